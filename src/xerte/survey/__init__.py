"""Do people agree with the evidence? The survey of the paper's appendix, for any model and any dataset.

Reading order: `shapes` (key, answers), `build` (rounds from a model's explanations), `facts` (nothing is shown that the
data does not hold), `shortcuts` (what could be guessed without reading, simulated respondents), `page` (the
questionnaire), `reading` (files of answers), `grade`, `charts`; `published` (the paper's own rounds), `standing` (where
a model sees a survey's evidence).
"""
