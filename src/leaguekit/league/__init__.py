"""The league layer, pure: events, state (their fold), commands, schedule, standings, tie-breaks."""
