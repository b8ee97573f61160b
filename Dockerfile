# palaver as a container: docker build -t palaver . && docker run --rm --network host -v "$PWD:/work" palaver talk …
FROM python:3.13-slim
COPY pyproject.toml README.md LICENSE /src/
COPY src /src/src
RUN pip install --no-cache-dir /src && rm -rf /src
WORKDIR /work
ENTRYPOINT ["palaver"]
CMD ["--help"]
