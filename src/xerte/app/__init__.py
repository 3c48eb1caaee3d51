"""HTTP API and page, over `api.service`. Needs the extra `serve`.

Reading order: `settings` (limits), `access` (tokens and scopes), `batching` (many questions, one batch), `served` (what
one server answers), `routes` (the API), `errors` (one shape for all), `guard` (limits on bodies and concurrency),
`metrics`, `page`, `server` (all of it together, run by uvicorn).
"""
