"""The judge that a command tries out: that of an eval file, or a typed one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from click import UsageError

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.cli.eval_files import open_eval_file
from adjudge.runs.cli.inputs import columns_from
from adjudge.runs.cli.model_choice import choose_language, current_project, model_entries
from adjudge.runs.cli.options import (
    LANGUAGE,
    SpendingOptions,
    at_once,
    columns,
    models,
    named,
    option,
    questions,
    quiet,
    server,
    shared,
    temperature,
    yes,
)
from adjudge.runs.cli.output import use_language
from adjudge.runs.cli.settings import Settings, settings
from adjudge.runs.criteria_entry import CriteriaEntry
from adjudge.runs.eval_file import (
    AspectEntry,
    DataEntry,
    DirectEntry,
    EvalFile,
    Gates,
    JudgeEntry,
    PairwiseEntry,
)
from adjudge.runs.model_overrides import at_server, by_models
from adjudge.runs.named_criteria import criteria_to_try, kinds_of
from adjudge.runs.project import ServerEntry


@light_dataclass(frozen=True, kw_only=True)
class NamedJudge(SpendingOptions):
    """The options of commands that try out a judge."""

    named: tuple[str, ...] = shared(named)
    criterion: tuple[str, ...] = shared(questions)
    aspect: tuple[str, ...] = option(
        "--aspect",
        multiple=True,
        help="What a response must meet to pass, or the name of a ready-made aspect; repeatable.",
    )
    model: tuple[str, ...] = shared(models)
    at: ServerEntry = shared(server)
    max_concurrency: int | None = shared(at_once)
    settings: Settings = shared(settings(JudgeEntry, "votes", "mode"))
    temperature: float | None = shared(temperature)
    column: tuple[str, ...] = shared(columns)
    language: str | None = option(
        "--language",
        type=LANGUAGE,
        help="Language of prompts, ready-made criteria, texts and reports: en (default) or ru.",
    )
    yes: bool = shared(yes)
    quiet: bool = shared(quiet)

    def file(self, path: Path | None, rows: Path | None) -> EvalFile:
        """Return the eval file at ``path``, or one built from the options. Gates, outputs and
        checks are removed.

        ``rows``: the rows to judge instead of the file's. Raises a SetupError if the file has a
        target, or no judge that asks a model.
        """
        file = self._file_of_options(rows) if path is None else self._load_file(path, rows)
        if file.target:
            raise SetupError(
                "in {path}, a target answers the rows: run it first, and pass the run folder as "
                "rows",
                path=file.path,
            )
        asking = tuple(judge for judge in file.judges if not judge.is_check)
        if not asking:
            raise SetupError("{path} has no judge that asks a model", path=file.path)
        use_language(file.language)
        judges = tuple(replace(judge, after=None) for judge in asking)
        return replace(file, judges=judges, gates=Gates(), outputs=())

    def _load_file(self, path: Path, rows: Path | None) -> EvalFile:
        if self.named or self.criterion or self.aspect:
            raise UsageError(
                Message("give an eval file, or criteria with -c, --criterion or --aspect, not both")
            )
        project = current_project()
        values_by_key = {"data": rows, "models": self.model}
        file = open_eval_file(
            path,
            rows,
            # nothing is written where the file says: outputs are dropped, runs kept elsewhere
            typed=["run", *(name for name, value in values_by_key.items() if value)],
            is_limited=self.budget() is not None,
            prices=self.prices,
        )
        if rows is not None:
            file = replace(file, data=replace(file.data, path=str(rows.absolute())))
        file = replace(file, language=self.language or file.language)
        if self.model:
            entries = model_entries(self.model, self.at, self.max_concurrency, project)
            return by_models(file, entries)
        return at_server(file, self.at) if self.at.says_anything else file

    def _file_of_options(self, rows: Path | None) -> EvalFile:
        language = choose_language(self.language)
        judges = tuple(self._entries(language))
        if not judges or rows is None:
            raise UsageError(
                Message(
                    "name the judge: an eval file, or -c CRITERIA, --criterion QUESTION or "
                    "--aspect TEXT with --rows FILE"
                )
            )
        compares = judges[0].compares_responses
        response_columns = tuple(name for name in self.column if "=" not in name)
        data = DataEntry(
            path=str(rows),
            columns=tuple(
                columns_from(
                    [column for column in self.column if not compares or "=" in column]
                ).items()
            ),
            responses=response_columns if compares else (),
        )
        return EvalFile(
            data=data,
            judges=judges,
            language=language,
            models=model_entries(self.model, self.at, self.max_concurrency),
            typed=True,
        )

    def _entries(self, language: str) -> list[JudgeEntry]:
        compares = "pairwise" in kinds_of(self.named)
        kind = PairwiseEntry if compares else DirectEntry
        criteria = criteria_to_try(
            self.named, self.criterion, "pairwise" if compares else "direct", language
        )
        entries: list[JudgeEntry] = [
            kind(
                kind="pairwise" if compares else "direct",
                name=named_criterion.name,
                criteria=(CriteriaEntry(named_criterion.criteria),),
                temperature=self.temperature,
                **self.settings,
            )
            for named_criterion in criteria
        ]
        entries += [
            AspectEntry(
                kind="aspect",
                name=aspect,
                criteria=(CriteriaEntry(aspect),),
                temperature=self.temperature,
                **self.settings,
            )
            for aspect in self.aspect
        ]
        return entries
