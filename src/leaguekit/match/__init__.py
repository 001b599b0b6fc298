"""The refereeing layer, pure: one match as a state machine, inputs in, effects out, and its rulings."""
