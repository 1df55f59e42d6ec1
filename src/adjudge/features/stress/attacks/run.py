"""The plan of an attack: an ordinary run over generated rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adjudge.core.domain.instance import Instance
from adjudge.features.stress.attacks.families import Family
from adjudge.features.stress.attacks.judges import Defence, ask_twice, defend
from adjudge.features.stress.attacks.report import AttackedJudge, attack_fact
from adjudge.features.stress.attacks.rows import attacker_for, check_attackable, criteria_of
from adjudge.runs.plan import Plan


def attack_plan(
    plan: Plan,
    rows: Sequence[Instance],
    families: Sequence[Family],
    defences: Sequence[Defence],
    texts: int,
    unread: int,
) -> Plan:
    """Return ``plan`` with every row, judged twice as it is and once under each attack.

    This is done by each judge with each defence. ``unread``: rows that could not be read.
    """
    for ready_judge in plan.judges:
        check_attackable(ready_judge)
    attacker = attacker_for(plan.judges, families, plan.file.language, texts)
    judges, attacked = [], []
    for ready in plan.judges:
        for defence in defences:
            guarded = defend(ready, defence)
            for item in guarded.items(rows[0])[:1]:
                guarded.judge.plan_all(item)  # a defence that does not apply is refused now
            again = ask_twice(guarded)
            # both share the rows; the second one skips attacked rows, see ask_twice
            judges += [guarded, again]
            attacked.append(
                AttackedJudge(
                    judge=ready.name,
                    defence=defence,
                    first=guarded.label,
                    again=again.label,
                    best={
                        criterion.name: criterion.best_options for criterion in criteria_of(ready)
                    },
                )
            )
    controls = [family.name for family in families if family.control]
    facts = attack_fact(plan.file.language, attacked, controls, unread)
    attack = plan.over(replace(plan.file, rows=tuple(attacker.rows(rows))))
    return replace(attack, judges=tuple(judges), limit=None, facts={**plan.facts, **facts})
