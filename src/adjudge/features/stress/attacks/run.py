"""The run of an attack: an ordinary run over rows that were made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adjudge.core.domain.instance import Instance
from adjudge.features.stress.attacks.families import Family
from adjudge.features.stress.attacks.judges import Defence, asked_twice, defended
from adjudge.features.stress.attacks.report import AttackedJudge, attack_fact
from adjudge.features.stress.attacks.rows import attacker_for, check_attackable, criteria_of
from adjudge.runs.plan import Plan


def attacked_plan(
    plan: Plan,
    rows: Sequence[Instance],
    families: Sequence[Family],
    defences: Sequence[Defence],
    texts: int,
) -> Plan:
    """Return ``plan`` with each row as it is, asked twice, and under attack, asked once; each judge
    with each defence.
    """
    for one in plan.judges:
        check_attackable(one)
    attacker = attacker_for(plan.judges, families, plan.file.language, texts)
    judges, attacked = [], []
    for ready in plan.judges:
        for defence in defences:
            first = defended(ready, defence)
            for item in first.items(rows[0])[:1]:
                first.judge.plan_all(item)  # a defence that does not apply is refused now
            again = asked_twice(first)
            judges += [first, again]
            attacked.append(
                AttackedJudge(
                    judge=ready.name,
                    defence=defence,
                    first=first.label,
                    again=again.label,
                    best={one.name: one.best_options for one in criteria_of(ready)},
                )
            )
    facts = attack_fact(plan.file.language, attacked, [one.name for one in families if one.control])
    attack = plan.over(replace(plan.file, rows=tuple(attacker.rows(rows))))
    return replace(attack, judges=tuple(judges), limit=None, facts={**plan.facts, **facts})
