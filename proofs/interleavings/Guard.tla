------------------------------- MODULE Guard -------------------------------
(* Agents over one log of calls: each reads one resource, in one step, and     *)
(* writes one that rests on that read. A model of admission in the terms of    *)
(* the semantics and not of the code: what the log says of a premise is kept   *)
(* as what has become of the writes to it.                                     *)
EXTENDS Naturals, Sequences

CONSTANTS Agents,     \* 1 .. n
          Policy      \* "shipped", or what must be refuted: "unpinned", "split"

Resources == {"x", "y"}
None == "none"

VARIABLES
  reads, writes,   \* what each agent chose, None once it has ended
  pc,              \* "read", "write", "running", "lost" or "ended": what it is about to do, or what its write is
  wait,            \* the agent that it waits for; 0: asks for the first time; Woken; Cleared
  queue,           \* the running writes, in the order of their begins
  before,          \* the writes to its premise that began before it was read and are not settled
  mark,            \* what the settled writes say of its premise: 0 nothing, 1 it may be superseded, 2 it is
  acted,           \* ghost: its write has changed the resource
  old,             \* ghost: what it read has been changed by another since
  broken           \* ghost: a write took effect on a superseded premise

vars == <<reads, writes, pc, wait, queue, before, mark, acted, old, broken>>

Asking == 0
Woken == 90
Cleared == 91

Init == /\ reads \in [Agents -> Resources]
        /\ writes \in [Agents -> Resources]
        /\ pc = [a \in Agents |-> "read"]
        /\ wait = [a \in Agents |-> Asking]
        /\ queue = <<>>
        /\ before = [a \in Agents |-> {}]
        /\ mark = [a \in Agents |-> 0]
        /\ acted = [a \in Agents |-> FALSE]
        /\ old = [a \in Agents |-> FALSE]
        /\ broken = FALSE

Max(i, j) == IF i > j THEN i ELSE j
Without(q, a) == SelectSeq(q, LAMBDA b : b # a)
Running(a, r) == SelectSeq(queue, LAMBDA b : b # a /\ writes[b] = r)
Pinning(a, r) == SelectSeq(queue, LAMBDA b : b # a /\ reads[b] = r)
Lost(a, r) == \E b \in Agents : b # a /\ pc[b] = "lost" /\ writes[b] = r
Unsettled(a, r) == {b \in Agents \ {a} : pc[b] \in {"running", "lost"} /\ writes[b] = r}

(* What is in the way of a write, or 0 where nothing is. *)
Blocker(a) ==
  IF Running(a, reads[a]) # <<>> THEN Head(Running(a, reads[a]))
  ELSE IF Running(a, writes[a]) # <<>> THEN Head(Running(a, writes[a]))
  ELSE IF Policy = "shipped" /\ Pinning(a, writes[a]) # <<>> THEN Head(Pinning(a, writes[a]))
  ELSE 0
IsRefused(a) ==
  \/ mark[a] = 2
  \/ Running(a, reads[a]) = <<>> /\ (mark[a] = 1 \/ Lost(a, reads[a]))

(* The agent a ends. The others know what ends with it by what is passed on. *)
End(a) ==
  /\ reads' = [reads EXCEPT ![a] = None]
  /\ writes' = [writes EXCEPT ![a] = None]
  /\ pc' = [pc EXCEPT ![a] = "ended"]
  /\ acted' = [acted EXCEPT ![a] = FALSE]
  /\ old' = [old EXCEPT ![a] = FALSE]
Wake(a) == wait' = [b \in Agents |-> IF b = a THEN Asking ELSE IF wait[b] = a THEN Woken ELSE wait[b]]

(* The time for which a wait is bounded may run out while its blocker runs. *)
MayAsk(a, gives_up) == IF gives_up THEN wait[a] \notin {Asking, Cleared} ELSE wait[a] \in {Asking, Woken}

Read(a, gives_up) ==
  /\ pc[a] = "read" /\ MayAsk(a, gives_up)
  /\ IF ~gives_up /\ Running(a, reads[a]) # <<>>
     THEN /\ wait' = [wait EXCEPT ![a] = Head(Running(a, reads[a]))]
          /\ UNCHANGED <<pc, before>>
     ELSE /\ wait' = [wait EXCEPT ![a] = Asking]
          /\ pc' = [pc EXCEPT ![a] = "write"]
          /\ before' = [before EXCEPT ![a] = Unsettled(a, reads[a])]
  /\ UNCHANGED <<reads, writes, queue, mark, acted, old, broken>>

Begin(a) ==
  /\ pc' = [pc EXCEPT ![a] = "running"]
  /\ queue' = Append(queue, a)
  /\ wait' = [wait EXCEPT ![a] = Asking]
  /\ mark' = [mark EXCEPT ![a] = 0]
  /\ before' = [before EXCEPT ![a] = {}]
  /\ UNCHANGED <<reads, writes, acted, old, broken>>

Write(a, gives_up) ==
  /\ pc[a] = "write" /\ MayAsk(a, gives_up)
  /\ IF IsRefused(a) \/ (gives_up /\ Blocker(a) # 0)
     THEN /\ End(a)
          /\ wait' = [wait EXCEPT ![a] = Asking]
          /\ mark' = [mark EXCEPT ![a] = 0]
          /\ before' = [before EXCEPT ![a] = {}]
          /\ UNCHANGED <<queue, broken>>
     ELSE IF Blocker(a) # 0
     THEN /\ wait' = [wait EXCEPT ![a] = Blocker(a)]
          /\ UNCHANGED <<reads, writes, pc, queue, before, mark, acted, old, broken>>
     ELSE IF Policy = "split"
     THEN /\ wait' = [wait EXCEPT ![a] = Cleared]
          /\ UNCHANGED <<reads, writes, pc, queue, before, mark, acted, old, broken>>
     ELSE Begin(a)

Record(a) == pc[a] = "write" /\ wait[a] = Cleared /\ Begin(a)

Effect(a) ==
  /\ pc[a] \in {"running", "lost"} /\ ~acted[a]
  /\ acted' = [acted EXCEPT ![a] = TRUE]
  /\ old' = [b \in Agents |-> old[b] \/ (b # a /\ pc[b] \in {"write", "running"} /\ reads[b] = writes[a])]
  /\ broken' = (broken \/ (pc[a] = "running" /\ old[a]))
  /\ UNCHANGED <<reads, writes, pc, wait, queue, before, mark>>

(* The write of a has ended: what that says of the premises of others, by its outcome. *)
Tell(a, outcome) ==
  /\ mark' = [b \in Agents |->
       IF b = a THEN 0
       ELSE IF pc[b] # "write" \/ reads[b] # writes[a] \/ outcome = "failed" THEN mark[b]
       ELSE Max(mark[b], IF outcome = "ok" /\ a \notin before[b] THEN 2 ELSE 1)]
  /\ before' = [b \in Agents |-> IF b = a THEN {} ELSE before[b] \ {a}]

Outcomes(a) == IF acted[a] THEN {"ok", "error"} ELSE {"failed", "error"}

Settle(a) ==
  /\ pc[a] = "running"
  /\ \E outcome \in Outcomes(a) : End(a) /\ Tell(a, outcome)
  /\ queue' = Without(queue, a) /\ Wake(a)
  /\ UNCHANGED broken
(* It is settled as unknown, or its lease runs out while its body goes on: whoever acts late acts all the same. *)
Lose(a) ==
  /\ pc[a] = "running"
  /\ pc' = [pc EXCEPT ![a] = "lost"]
  /\ old' = [old EXCEPT ![a] = FALSE]
  /\ queue' = Without(queue, a) /\ Wake(a)
  /\ UNCHANGED <<reads, writes, before, mark, acted, broken>>
(* A lost write is settled by someone, or the time until which it may land has come: then it counts as an error. *)
Resolve(a) ==
  /\ pc[a] = "lost"
  /\ \E outcome \in Outcomes(a) : End(a) /\ Tell(a, outcome)
  /\ UNCHANGED <<wait, queue, broken>>

Progress == \E a \in Agents : \/ Read(a, FALSE) \/ Write(a, FALSE) \/ Record(a)
                              \/ Effect(a) \/ Settle(a) \/ Lose(a) \/ Resolve(a)
GiveUp == \E a \in Agents : Read(a, TRUE) \/ Write(a, TRUE)
IsOver == \A a \in Agents : pc[a] = "ended"

Next == Progress \/ GiveUp \/ (IsOver /\ UNCHANGED vars)
Spec == Init /\ [][Next]_vars /\ WF_vars(Progress)

NoSupersededEffect == ~broken
NoDeadlock == IsOver \/ ENABLED Progress   \* giving up a wait is no way out
EveryRunEnds == <>IsOver
=============================================================================
