#!/bin/sh
# Writes .env and the folder secrets/ for docker-compose.yml. What exists stays as it is.
set -eu
cd "$(dirname "$0")/.."
umask 077

if [ $# -ne 2 ]; then
  echo "usage: sh compose/setup.sh prefine.example.org you@example.org" >&2
  echo "The name by which people reach this machine ('localhost' to try it), and your e-mail address." >&2
  exit 2
fi

draw() { head -c "$1" /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n'; }

keep() { # name, content: containers read it as another user, so the folder alone keeps others out
  [ -e "secrets/$1" ] || printf '%s\n' "$2" >"secrets/$1"
  chmod 444 "secrets/$1"
}

read_secret() { cat "secrets/$1"; }

if [ ! -e .env ]; then
  sed -e "s/prefine\.example\.org/$1/" -e "s/you@example\.org/$2/" compose/.env.example >.env
fi
chmod a+r compose/Caddyfile # the proxy reads it as another user, too
mkdir -p secrets
keep admin_password "$(draw 12)"
keep secret_key "$(draw 48)"
keep encryption_keys "$(draw 32)"
keep vapid_key "$(draw 32)"
keep metrics_key "$(draw 24)"
keep postgres_password "$(draw 24)"
keep database_url "postgres://prefine:$(read_secret postgres_password)@postgres/prefine"
password=$(draw 24)
keep redis.conf "requirepass $password
save \"\""
password=$(sed -n 's/^requirepass //p' secrets/redis.conf)
keep broker_url "redis://:$password@redis:6379/0"
key=$(draw 15) secret=$(draw 30)
keep store.json "{\"identities\": [{\"name\": \"prefine\", \"actions\": [\"Admin\", \"Read\", \"Write\", \"List\", \"Tagging\"],
 \"credentials\": [{\"accessKey\": \"$key\", \"secretKey\": \"$secret\"}]}]}"
key=$(sed -n 's/.*"accessKey": "\([^"]*\)".*/\1/p' secrets/store.json)
secret=$(sed -n 's/.*"secretKey": "\([^"]*\)".*/\1/p' secrets/store.json)
keep store_url "s3://$key:$secret@store:8333/prefine?tls=0&region=us-east-1"
keep email_url ""

cat <<TEXT
Wrote .env and secrets/. Keep a copy of secrets/ elsewhere.
The administrator is admin, with the password in secrets/admin_password.
To write to participants, put your mail server into secrets/email_url: smtp+tls://user:password@host:587
Next: docker compose build, and then: docker compose up --detach --wait
TEXT
