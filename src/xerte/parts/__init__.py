"""The forecast as a sum of named parts, each a page; no parameter belongs to an entity, so a new name works at once.

Reading order: partners (whom the subject met, before any parameter comes in), weighing (what an earlier fact weighs),
walk and prior (terms of the sum beside the past), factor (what multiplies a candidate's sum), model (all of them
together), evidence (the facts behind every weight).
"""
