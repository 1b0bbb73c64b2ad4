(* Law L7 for any number of agents, calls and resources.

   No admitted write takes effect on a superseded premise, as long as
   - every writer goes through one log: only a call that was admitted takes effect;
   - suspects are refused: a call is admitted only if each conflicting write is known to have ended before its
     premise began to be observed, or to have changed nothing. One that runs, or was lost and may land, is neither;
   - a write ends within its lease: the law speaks of effects while the call runs. A lost write may still land, until
     it is resolved or its time is over, and never after;
   - check and record are one step, and what a running call rests on is pinned.

   What a call rests on is a relation, so it may be the closure through any number of derived reads. Which names
   conflict, and which writes are spared for a premise (nested, acknowledged ones), are relations too, and nothing is
   assumed of them but that a call's own writes are spared. That two writes of one name exclude each other is not needed. *)

From Coq Require Import Arith Lia.

Inductive phase := Idle | Running | Lost | Ended (time : nat) | ChangedNothing.

Definition put {A} (f : nat -> A) (k : nat) (v : A) : nat -> A := fun x => if Nat.eqb x k then v else f x.

Lemma put_same {A} (f : nat -> A) k v : put f k v k = v.
Proof. unfold put. now rewrite Nat.eqb_refl. Qed.
Lemma put_other {A} (f : nat -> A) k v x : x <> k -> put f k v x = f x.
Proof. unfold put. intro. destruct (Nat.eqb_spec x k); congruence. Qed.

(* Calls and premises are numbers. Times are positions in the log: each step takes the next one. *)
Record state := State {
  now : nat;
  phases : nat -> phase;
  effects : nat -> nat -> Prop;     (* the call took effect at this time *)
  began : nat -> option nat;        (* of a premise: its observation began, *)
  saw : nat -> option nat;          (* saw the world, *)
  had : nat -> bool                 (* and is settled *)
}.

Section Guard.
Variable name : Type.
Variable conflict : name -> name -> Prop.
Variable writes : nat -> name -> Prop.           (* call, name *)
Variable rests : nat -> nat -> Prop.             (* call, premise: the whole closure *)
Variable of_premise : nat -> name.
Variable spared : nat -> nat -> nat -> Prop.     (* write, call, premise: the write does not count *)
Variable pins : bool.                            (* whether a running call pins what it rests on *)

Definition counts w c p := exists n, writes w n /\ conflict n (of_premise p) /\ ~ spared w c p.

Definition fresh s c := forall p, rests c p ->
  had s p = true /\
  forall w, counts w c p ->
    phases s w = Idle \/ phases s w = ChangedNothing \/
    exists e b, phases s w = Ended e /\ began s p = Some b /\ e < b.

Definition unblocked s c := pins = true ->
  forall b p, phases s b = Running -> rests b p -> ~ counts c b p.

Inductive step : state -> state -> Prop :=
| Observe s p : began s p = None ->
    step s (State (S (now s)) (phases s) (effects s) (put (began s) p (Some (now s))) (saw s) (had s))
| See s p : began s p <> None -> had s p = false ->
    step s (State (S (now s)) (phases s) (effects s) (began s) (put (saw s) p (Some (now s))) (had s))
| Observed s p : saw s p <> None ->
    step s (State (S (now s)) (phases s) (effects s) (began s) (saw s) (put (had s) p true))
| Admit s c : phases s c = Idle -> fresh s c -> unblocked s c ->
    step s (State (S (now s)) (put (phases s) c Running) (effects s) (began s) (saw s) (had s))
| Effect s c : phases s c = Running \/ phases s c = Lost ->
    step s (State (S (now s)) (phases s) (fun x t => effects s x t \/ (x = c /\ t = now s)) (began s) (saw s) (had s))
| Lose s c : phases s c = Running ->
    step s (State (S (now s)) (put (phases s) c Lost) (effects s) (began s) (saw s) (had s))
| End s c : phases s c = Running \/ phases s c = Lost ->   (* ok, error, resolved, or its time is over *)
    step s (State (S (now s)) (put (phases s) c (Ended (now s))) (effects s) (began s) (saw s) (had s))
| Fail s c : phases s c = Running \/ phases s c = Lost -> (forall t, ~ effects s c t) ->
    step s (State (S (now s)) (put (phases s) c ChangedNothing) (effects s) (began s) (saw s) (had s)).

Definition start := State 0 (fun _ => Idle) (fun _ _ => False) (fun _ => None) (fun _ => None) (fun _ => false).

Inductive reached : state -> Prop :=
| Start : reached start
| Next s t : reached s -> step s t -> reached t.

(* A write that counts took effect after the premise saw the world. *)
Definition superseded s c p := exists w t i,
  counts w c p /\ effects s w t /\ saw s p = Some i /\ i <= t.

(* Whoever runs may take effect in the next step: no premise of it is superseded. *)
Definition law s := forall c p, phases s c = Running -> rests c p -> ~ superseded s c p.

Definition inv s :=
  (forall c t, effects s c t -> t < now s) /\
  (forall c e, phases s c = Ended e -> forall t, effects s c t -> t < e) /\
  (forall c, phases s c = Idle \/ phases s c = ChangedNothing -> forall t, ~ effects s c t) /\
  (forall p b, began s p = Some b -> b < now s) /\
  (forall p i, saw s p = Some i -> exists b, began s p = Some b /\ b <= i) /\
  (forall p, had s p = true -> saw s p <> None) /\
  (forall c p, phases s c = Running -> rests c p -> had s p = true) /\
  (forall c p w, phases s c = Running -> rests c p -> counts w c p ->
     phases s w <> Running /\ phases s w <> Lost /\
     forall t i, effects s w t -> saw s p = Some i -> t < i).

Hypothesis own : forall c p, spared c c p.
Hypothesis pinned : pins = true.

Ltac split_put :=
  repeat match goal with
  | H : context [put _ ?k _ ?x] |- _ =>
      destruct (Nat.eq_dec x k) as [->|?]; [rewrite put_same in H | rewrite put_other in H by assumption]
  | |- context [put _ ?k _ ?x] =>
      destruct (Nat.eq_dec x k) as [->|?]; [rewrite put_same | rewrite put_other by assumption]
  end.

Lemma inv_start : inv start.
Proof. unfold inv, start; cbn. repeat split; intros; try discriminate; try tauto. Qed.

Lemma inv_step s t : inv s -> step s t -> inv t.
Proof.
  intros I0 X0. revert I0. destruct X0; intros (E & D & N & B & W & J & R & L).
  - (* Observe *)
    unfold inv; cbn. repeat apply conj; eauto 3.
    + intros c t' X. apply E in X. lia.
    + intros p0 b X. split_put; [injection X as <-; lia|]. apply B in X. lia.
    + intros p0 i X. destruct (W _ _ X) as (b & Y & Z). exists b. split_put; [congruence|auto].
  - (* See *)
    unfold inv; cbn. repeat apply conj; eauto 3.
    + intros c t' X. apply E in X. lia.
    + intros p0 b X. apply B in X. lia.
    + intros p0 i X. split_put; [|eauto]. injection X as <-.
      destruct (began s p) eqn:Y; [|congruence]. exists n. split; [auto|]. apply B in Y. lia.
    + intros p0 X. split_put; [congruence|eauto].
    + intros c p0 w X Y Z. destruct (L _ _ _ X Y Z) as (P & Q & T). repeat split; auto.
      intros t' i U V. split_put; [|eauto]. assert (had s p = true) by eauto. congruence.
  - (* Observed *)
    unfold inv; cbn. repeat apply conj; eauto 3.
    + intros c t' X. apply E in X. lia.
    + intros p0 b X. apply B in X. lia.
    + intros p0 X. split_put; eauto.
    + intros c p0 X Y. split_put; eauto.
  - (* Admit *)
    rename H into I, H0 into F, H1 into U.
    unfold inv; cbn. repeat apply conj; eauto 3.
    + intros x t' X. apply E in X. lia.
    + intros x e X. split_put; [discriminate|eauto].
    + intros x X. split_put; [destruct X; discriminate|eauto].
    + intros p b X. apply B in X. lia.
    + intros x p X Y. split_put; [apply F in Y; tauto|eauto].
    + intros x p w X Y Z. split_put.
      * destruct Z as (n & _ & _ & O). destruct (O (own _ _)).
      * destruct (F _ Y) as (G & K).
        destruct (K _ Z) as [K'|[K'|(e & b & K' & M & Q)]]; rewrite K'.
        -- repeat split; try discriminate. intros t' i V. exfalso. eapply N; eauto.
        -- repeat split; try discriminate. intros t' i V. exfalso. eapply N; eauto.
        -- repeat split; try discriminate. intros t' i V V'. destruct (W _ _ V') as (b' & M' & Q').
           specialize (D _ _ K' _ V). rewrite M in M'. injection M' as <-. lia.
      * exfalso. exact (U pinned _ _ X Y Z).
      * eauto.
  - (* Effect *)
    rename H into I.
    unfold inv; cbn. repeat apply conj; eauto 3.
    + intros x t' [X|[-> ->]]; [apply E in X|]; lia.
    + intros x e X t' [Y|[-> ->]]; [eauto|]. destruct I; congruence.
    + intros x X t' [Y|[-> ->]]; [eapply N; eauto|]. destruct I, X; congruence.
    + intros p b X. apply B in X. lia.
    + intros x p w X Y Z. destruct (L _ _ _ X Y Z) as (P & Q & T). repeat split; auto.
      intros t' i [V|[-> ->]] V'; [eauto|]. destruct I; congruence.
  - (* Lose *)
    rename H into I.
    unfold inv; cbn. repeat apply conj; eauto 3.
    + intros x t' X. apply E in X. lia.
    + intros x e X. split_put; [discriminate|eauto].
    + intros x X. split_put; [destruct X; discriminate|eauto].
    + intros p b X. apply B in X. lia.
    + intros x p X Y. split_put; [discriminate|eauto].
    + intros x p w X Y Z. split_put; try discriminate; try (destruct (L _ _ _ X Y Z); congruence); eauto.
  - (* End *)
    rename H into I.
    unfold inv; cbn. repeat apply conj; eauto 3.
    + intros x t' X. apply E in X. lia.
    + intros x e X. split_put; [injection X as <-; eauto|eauto].
    + intros x X. split_put; [destruct X; discriminate|eauto].
    + intros p b X. apply B in X. lia.
    + intros x p X Y. split_put; [discriminate|eauto].
    + intros x p w X Y Z. split_put; try discriminate.
      * destruct (L _ _ _ X Y Z) as (P & Q & T). destruct I; congruence.
      * eauto.
  - (* Fail *)
    rename H into I, H0 into F.
    unfold inv; cbn. repeat apply conj; eauto 3.
    + intros x t' X. apply E in X. lia.
    + intros x e X. split_put; [discriminate|eauto].
    + intros x X. split_put; eauto.
    + intros p b X. apply B in X. lia.
    + intros x p X Y. split_put; [discriminate|eauto].
    + intros x p w X Y Z. split_put; try discriminate.
      * destruct (L _ _ _ X Y Z) as (P & Q & T). destruct I; congruence.
      * eauto.
Qed.

Theorem no_effect_on_a_superseded_premise s : reached s -> law s.
Proof.
  intros X. enough (Y : inv s).
  - destruct Y as (_ & _ & _ & _ & _ & _ & _ & L). intros c p C P (w & t & i & K & F & V & Q).
    destruct (L c p w C P K) as (_ & _ & T). specialize (T _ _ F V). lia.
  - induction X; [apply inv_start|eauto using inv_step].
Qed.
End Guard.

(* Two calls and one premise: call 0 rests on premise 0, of name 0, and writes name 1; any other call writes name 0 and
   rests on nothing. *)
Definition two_writes (c n : nat) := n = match c with 0 => 1 | _ => 0 end.
Definition two_rests (c p : nat) := c = 0 /\ p = 0.
Definition two pins := reached nat eq two_writes two_rests (fun _ => 0) (fun w c _ => w = c) pins.
Definition two_law := law nat eq two_writes two_rests (fun _ => 0) (fun w c _ => w = c).

Lemma call_0_is_admitted pins : exists s, two pins s /\ phases s 0 = Running /\ had s 0 = true /\ saw s 0 = Some 1 /\
  phases s 1 = Idle.
Proof.
  eexists. split.
  - eapply Next.
    + eapply Next.
      * eapply Next.
        -- eapply Next; [apply Start|]. apply Observe with (p := 0). reflexivity.
        -- apply See with (p := 0); [discriminate|reflexivity].
      * apply Observed with (p := 0). discriminate.
    + apply Admit with (c := 0); [reflexivity| |].
      * intros p [_ ->]. split; [reflexivity|]. intros w _. left. reflexivity.
      * intros _ b p X. discriminate.
  - repeat split; reflexivity.
Qed.

(* The law is about something: a call that rests on a premise is admitted, pinned or not. *)
Theorem something_is_admitted : exists s, two true s /\ phases s 0 = Running.
Proof. destruct (call_0_is_admitted true) as (s & R & P & _). eauto. Qed.

(* Check and record in one step, and no pins: the law breaks. *)
Theorem without_pins_it_breaks : exists s, two false s /\ ~ two_law s.
Proof.
  destruct (call_0_is_admitted false) as (s & R & P & H & V & I).
  eexists. split.
  - eapply Next.
    + eapply Next; [exact R|]. apply Admit with (c := 1); [exact I| |discriminate].
      intros p [X _]. discriminate.
    + apply Effect with (c := 1). left. reflexivity.
  - intro L. apply (L 0 0); [exact P|split; reflexivity|].
    exists 1, (S (now s)), 1. repeat split.
    + exists 0. repeat split; auto.
    + right. split; reflexivity.
    + exact V.
    + lia.
Qed.

Print Assumptions no_effect_on_a_superseded_premise.
Print Assumptions something_is_admitted.
Print Assumptions without_pins_it_breaks.
