# The commands of README.md: docker build -t combred . && docker run -v "$PWD/runs:/combred/runs" combred
FROM python:3.12-slim-bookworm

RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /combred
COPY . .
RUN pip install --no-cache-dir -e ".[train]" -c constraints.txt
CMD ["combred", "run", "stage=2"]
