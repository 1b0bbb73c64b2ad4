-- The events of one log, and what only says where to look among them.
-- Columns are plain: STRICT needs SQLite 3.37, and Python 3.11 is shipped with older ones.

-- The one row of what belongs to the log as a whole.
--   prefix       of all ids
--   next         the number that the next endpoint takes
--   first        the first number whose id is known, since the log was cleared
--   latest       the latest time that the log has seen, in microseconds
--   held         so many events are held
--   droppable    so many of them have ended for good
--   swept        the last end that was dropped, and its time
--   dropped      the last end of a write that was dropped, and the last of one whose name is forgotten
CREATE TABLE meta (
    prefix TEXT NOT NULL,
    next INTEGER NOT NULL,
    first INTEGER NOT NULL,
    latest INTEGER NOT NULL,
    held INTEGER NOT NULL,
    droppable INTEGER NOT NULL,
    swept INTEGER NOT NULL,
    swept_time INTEGER NOT NULL,
    dropped REAL NOT NULL,
    dropped_unnamed REAL NOT NULL
);

-- One row an event. "due" stands at the first event of a call: when its lease runs out, or its lost writes can land no
-- longer; at every pending call there is one. "rests" is what the call rests on, as JSON. A call that will be named by
-- its result has the name ''.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    call INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    outcome TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER,
    start_time INTEGER NOT NULL,
    end_time INTEGER,
    due INTEGER,
    window INTEGER,
    rests TEXT,
    parent INTEGER,
    tool TEXT,
    session TEXT,
    batch TEXT,
    run TEXT,
    agent TEXT,
    seen REAL,
    seen_time INTEGER,
    version TEXT,
    until REAL,
    until_time INTEGER
);
CREATE INDEX event_more ON event (call) WHERE id <> call;
CREATE INDEX event_ended ON event (end_time, "end") WHERE end_time IS NOT NULL;
CREATE INDEX event_due ON event (due) WHERE due IS NOT NULL;
CREATE INDEX event_own ON event (session, name, "end") WHERE session IS NOT NULL AND outcome = 'ok';

-- Writes that are pending, or lost and may still land: a row for the name (below = 0) and for each name above it (1).
-- "pins" stands at the name's row of a pending write whose call rests on something.
CREATE TABLE flight (
    name TEXT NOT NULL,
    below INTEGER NOT NULL,
    start INTEGER NOT NULL,
    id INTEGER NOT NULL,
    call INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    pins INTEGER NOT NULL,
    PRIMARY KEY (name, below, start, id)
) WITHOUT ROWID;
CREATE INDEX flight_pinning ON flight (start, id) WHERE pins = 1;

-- Writes that took effect, or may have, and ended: "ok", "error", and lost ones that can land no longer, as errors.
CREATE TABLE written (
    name TEXT NOT NULL,
    below INTEGER NOT NULL,
    start INTEGER NOT NULL,
    id INTEGER NOT NULL,
    call INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    "end" REAL NOT NULL,
    PRIMARY KEY (name, below, start, id)
) WITHOUT ROWID;
CREATE INDEX written_ended ON written (name, below, "end", call);

-- The last end of the writes to a name, or below it, that were dropped.
CREATE TABLE dropped (
    name TEXT NOT NULL,
    below INTEGER NOT NULL,
    "end" REAL NOT NULL,
    PRIMARY KEY (name, below)
) WITHOUT ROWID;

-- The last event that a session knew by a name, of those that were dropped; and of each row of them, which no event that
-- is held interrupts, the first (leads = 1).
CREATE TABLE known (
    session TEXT NOT NULL,
    name TEXT NOT NULL,
    "end" INTEGER NOT NULL,
    id INTEGER NOT NULL,
    leads INTEGER NOT NULL,
    PRIMARY KEY (session, name, "end", id)
) WITHOUT ROWID;
