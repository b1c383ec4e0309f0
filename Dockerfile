# docker build --target slim -t shiq:slim .     checks, certifies, gates: no Java, no HermiT
# docker build -t shiq .                        with a JRE, for HermiT
# docker run --rm -v "$PWD:/data" shiq check --store kg --insert tonight.nt
FROM python:3.12-slim AS wheel
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel .

FROM python:3.12-slim AS slim
COPY --from=wheel /wheel /wheel
RUN pip install --no-cache-dir /wheel/*.whl && rm -rf /wheel && useradd --uid 10001 --create-home shiq
USER shiq
WORKDIR /data
ENTRYPOINT ["shiq"]
CMD ["--help"]

FROM slim AS full
USER root
RUN apt-get update && apt-get install --no-install-recommends -y default-jre-headless && rm -rf /var/lib/apt/lists/* \
    && pip install --no-cache-dir "owlready2>=0.47"
USER shiq
