"""HTTP API and page, over `api.service`. Needs the extra `serve`.

Reading order: `settings` (limits), `access` (tokens and scopes), `batching` (many questions, one batch), `served` (what
one server answers), `requests` (what routes share), `routes` (the API), `errors` (one shape for all), `guard` (limits
on bodies and concurrency), `metrics`, `page`, `alerts` (what is watched and what is to be sent), `webhooks` (one call),
`watching` (asks and sends), `protocol` (what is no HTTP), `server` (all of it together, run by uvicorn).
"""
