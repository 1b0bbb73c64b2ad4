"""Law L7: no admitted write takes effect on a superseded premise, whatever the order in which calls run."""
