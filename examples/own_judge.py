"""A judge without a model: repetition, order and pooling come from the base class."""

from adjudge.judges import BaseDirectJudge


class ShortJudge(BaseDirectJudge):
    """Says Yes to texts of fewer than ten words."""

    def _run(self, instances, criteria):
        return [
            "Yes" if len(instance.fields["response"].split()) < 10 else "No"
            for instance in instances
        ]


for result in ShortJudge()(
    ["Short and clear.", "This one goes on and on and on and on and on."], "Is it short?"
):
    print(result.option, result.score)
