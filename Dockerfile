# A league in a container: no root, nothing writable but /data. See docs/deployment.md.
FROM python:3.11-slim AS build
WORKDIR /sources
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/leaguekit \
    && /opt/leaguekit/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt '.[mcp,postgres,swiss]'

FROM python:3.11-slim
COPY --from=build /opt/leaguekit /opt/leaguekit
RUN mkdir /data && chown 10001:10001 /data
ENV PATH=/opt/leaguekit/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001:10001
# The files of the league are in /data/SHARED, where every command looks for them.
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=10s --start-period=20s CMD ["league", "status"]
ENTRYPOINT ["league"]
CMD ["host", "--host", "0.0.0.0", "--port", "8000", "--allow", "local", "--league-id", "cup"]
