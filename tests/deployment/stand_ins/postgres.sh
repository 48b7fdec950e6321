set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --username "$POSTGRES_USER" --pwfile "$POSTGRES_PASSWORD_FILE" --auth scram-sha-256 --encoding UTF8
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  pg_ctl start --wait --options "-c listen_addresses=''"
  PGPASSWORD=$(cat "$POSTGRES_PASSWORD_FILE") createdb --username "$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl stop
fi
exec "$@" -c listen_addresses="*"
