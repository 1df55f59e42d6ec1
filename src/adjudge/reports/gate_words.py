"""How gates tell what came of them."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "of a judge": "{name} (judge {judge})",
        "win rate by": "win rate of {system} by {name}",
        "alone": "",
        "of many": " over all {among} criteria",
        "by itself": " (each of {among} criteria by itself)",
        "together": " with rows of one {cluster} taken together",
        "mean": "mean score of {of}",
        "composite": "mean composite of {of}",
        "win rate": "win rate of {of}",
        "holds": (
            "Gate holds: {what} is {value:.3f}, the bar is {bar:.3f}: reached with {margin:.3f} to "
            "spare."
        ),
        "failed": (
            "Gate failed: {what} is {value:.3f}, the bar is {bar:.3f}: missed by {margin:.3f}. "
            "Needed: {needed} more of {rows} rows at 1 instead of 0."
        ),
        "at best": "Gate failed: {what} is {upper:.3f} at best, the bar is {bar:.3f}.",
        "at least": "Gate holds: {what} is {lower:.3f} at least, the bar is {bar:.3f}.",
        "inconclusive": (
            "Gate undecided: {what} lies between {lower:.3f} and {upper:.3f}, the bar is "
            "{bar:.3f}. "
            "Needed: scores for the {missing} of {rows} rows that have none."
        ),
        "sure holds": (
            "Gate holds: {what} is {value:.3f}, at least {lower:.3f} at {level}, the bar is "
            "{bar:.3f}."
        ),
        "sure failed": (
            "Gate failed: {what} is {value:.3f}, at most {upper:.3f} at {level}, the bar is "
            "{bar:.3f}."
        ),
        "sure inconclusive": (
            "Gate undecided: {what} is {value:.3f}, between {lower:.3f} and {upper:.3f} at "
            "{level}, the bar is {bar:.3f}. {more}"
        ),
        "more rows": "Needed: about {enough} rows, if the figure stays what it is.",
        "few rows": (
            "Gate undecided: {what} rests on {scored} rows; at {level} 8 are the fewest. The bar "
            "is {bar:.3f}."
        ),
        "worse holds": (
            "Gate holds: {of} is not worse than in {against}: difference {value:+.3f}, at least "
            "{lower:+.3f} at {level}, {margin_allowed:.3f} may be lost."
        ),
        "worse failed": (
            "Gate failed: {of} is worse than in {against}: difference {value:+.3f}, at most "
            "{upper:+.3f} at {level}, {margin_allowed:.3f} may be lost."
        ),
        "worse inconclusive": (
            "Gate undecided: whether {of} is worse than in {against} cannot be told: difference "
            "{value:+.3f}, between {lower:+.3f} and {upper:+.3f} at {level}, {margin_allowed:.3f} "
            "may be lost."
        ),
        "worse few rows": "Gate undecided: {of} cannot be compared with {against}: {reason}.",
        "gone": "Gate undecided: {of} is in {against}, and not in this run.",
        "nothing shared": (
            "Gate undecided: no judge of this run is in {against}, too: there is nothing to "
            "compare."
        ),
        "nothing paired": (
            "Gate undecided: no row of {of} could be paired with one of {against} ({before} rows "
            "there, {now} here): no id is in both, and nothing beside the judged text names the "
            "same row in both. Name the column that does: --id COLUMN, or id under data of an eval "
            "file."
        ),
        "other judge": (
            " That run had another judge (criteria, model or settings): part of the difference may "
            "be the judges'."
        ),
        "no system": "Gate undecided: no system is called {of}.",
        "stopped": (
            "Gate undecided: the run has not come to its end (rows of {of} so far: {so_far})."
        ),
        "few missing": (
            "Gate holds: {missing} of {rows} judgments of {of} have no score, {allowed} may."
        ),
        "many missing": (
            "Gate failed: {missing} of {rows} judgments of {of} have no score, {allowed} may. "
            "Needed: scores for {needed} more."
        ),
    },
    "ru": {
        "of a judge": "{name} (судья {judge})",
        "win rate by": "доля побед {system} по критерию {name}",
        "alone": "",
        "of many": " по всем критериям ({among})",
        "by itself": " (каждый критерий сам по себе, всего {among})",
        "together": " (строки с одним значением {cluster} вместе)",
        "mean": "средняя оценка «{of}»",
        "composite": "средняя итоговая оценка «{of}»",
        "win rate": "доля побед «{of}»",
        "holds": "Порог выдержан: {what} {value:.3f}, порог {bar:.3f}, запас {margin:.3f}.",
        "failed": (
            "Порог не выдержан: {what} {value:.3f}, порог {bar:.3f}, не хватает {margin:.3f}. "
            "Нужно: ещё {needed} из {rows} с оценкой 1 вместо 0."
        ),
        "at best": "Порог не выдержан: {what} не выше {upper:.3f}, порог {bar:.3f}.",
        "at least": "Порог выдержан: {what} не ниже {lower:.3f}, порог {bar:.3f}.",
        "inconclusive": "Порог не проверен: {what} от {lower:.3f} до {upper:.3f}, порог {bar:.3f}. "
        "Нужны оценки для строк без оценки: их {missing} из {rows}.",
        "sure holds": (
            "Порог выдержан: {what} {value:.3f}, не ниже {lower:.3f} при {level}, порог {bar:.3f}."
        ),
        "sure failed": (
            "Порог не выдержан: {what} {value:.3f}, не выше {upper:.3f} при {level}, порог "
            "{bar:.3f}."
        ),
        "sure inconclusive": (
            "Порог не проверен: {what} {value:.3f}, от {lower:.3f} до {upper:.3f} при {level}, "
            "порог {bar:.3f}. {more}"
        ),
        "more rows": "Нужно строк, если доля не изменится: около {enough}.",
        "few rows": (
            "Порог не проверен: {what}: строк с оценкой {scored}, при {level} нужно хотя бы 8. "
            "Порог {bar:.3f}."
        ),
        "worse holds": (
            "Порог выдержан: «{of}» не хуже, чем в {against}: разница {value:+.3f}, не ниже "
            "{lower:+.3f} при {level}, допустимая потеря {margin_allowed:.3f}."
        ),
        "worse failed": (
            "Порог не выдержан: «{of}» хуже, чем в {against}: разница {value:+.3f}, не выше "
            "{upper:+.3f} при {level}, допустимая потеря {margin_allowed:.3f}."
        ),
        "worse inconclusive": (
            "Порог не проверен: хуже ли «{of}», чем в {against}, сказать нельзя: разница "
            "{value:+.3f}, от {lower:+.3f} до {upper:+.3f} при {level}, допустимая потеря "
            "{margin_allowed:.3f}."
        ),
        "worse few rows": "Порог не проверен: «{of}» нельзя сравнить с {against}: {reason}.",
        "gone": "Порог не проверен: «{of}» есть в {against}, а в этом прогоне нет.",
        "nothing shared": (
            "Порог не проверен: в {against} нет ни одного судьи этого прогона: сравнивать нечего."
        ),
        "nothing paired": (
            "Порог не проверен: ни одной строке «{of}» не нашлось пары в {against} (там строк "
            "{before}, здесь {now}): общих идентификаторов нет, и поля, кроме оцениваемого, не "
            "указывают на одну и ту же строку. Назовите столбец, который на неё указывает: --id "
            "СТОЛБЕЦ или id в разделе data файла проверки."
        ),
        "other judge": (
            " В том прогоне был другой судья (критерий, модель или настройки): часть разницы может "
            "быть из-за этого."
        ),
        "no system": "Порог не проверен: системы «{of}» нет.",
        "stopped": "Порог не проверен: прогон не дошёл до конца (строк по «{of}» пока {so_far}).",
        "few missing": (
            "Порог выдержан: без оценки {missing} из {rows} («{of}»), допустимо {allowed}."
        ),
        "many missing": (
            "Порог не выдержан: без оценки {missing} из {rows} («{of}»), допустимо {allowed}. "
            "Нужны оценки ещё для {needed}."
        ),
    },
}
