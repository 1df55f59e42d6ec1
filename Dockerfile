# The RAG evaluator as a command, and every other one by its name:
#   docker build -t rag-evaluator .
#   docker run --rm -v $PWD:/app/data rag-evaluator run data/eval.yaml
#   docker run --rm --tty -v $PWD/data:/app/data -v $PWD/reports:/app/reports rag-evaluator --csv data/rows.csv …
# With the embedded model inside (larger): docker build --build-arg EXTRA=local -t rag-evaluator .
ARG PYTHON=3.12-slim-bookworm

FROM python:${PYTHON} AS build
ARG EXTRA=core
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY requirements ./requirements
COPY src ./src
RUN python -m venv /opt/adjudge \
    && /opt/adjudge/bin/pip install --no-cache-dir --disable-pip-version-check -r "requirements/${EXTRA}.txt" \
    && /opt/adjudge/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps . \
    && mkdir -p /opt/adjudge/cache \
    && if [ "${EXTRA}" = local ]; then ADJUDGE_CACHE=/opt/adjudge/cache /opt/adjudge/bin/adjudge models pull smollm2-135m; fi

FROM python:${PYTHON}
RUN useradd --uid 1000 --create-home judge \
    && install --directory --owner=judge --group=judge /app /app/data /app/reports \
    && printf '%s\n' '#!/bin/sh' \
        'case "$1" in ""|-*) exec adjudge rag "$@" ;; adjudge) exec "$@" ;; *) exec adjudge "$@" ;; esac' \
        > /usr/local/bin/judge && chmod 755 /usr/local/bin/judge
COPY --from=build --chown=judge:judge /opt/adjudge /opt/adjudge
ENV PATH=/opt/adjudge/bin:$PATH \
    ADJUDGE_CACHE=/opt/adjudge/cache \
    PYTHONUNBUFFERED=1
WORKDIR /app
USER 1000
ENTRYPOINT ["judge"]
CMD ["--help"]
