#!/bin/sh
# The first program of the database's image. It makes the database where the volume has none, sets the password that the
# file holds now, and becomes PostgreSQL. The superuser can connect from within the container alone, and has no password.
set -eu
umask 077

fail() {
  echo "error: $1" >&2
  exit 1
}

# statements FOLDER: run SQL from standard input, one statement a line, while no server runs. None of it is logged.
# After a crash a lock names process 1. That was PostgreSQL then and is this shell now, whom PostgreSQL takes for a live
# server unless it is told that this is its grandparent.
statements() {
  PG_GRANDPARENT_PID=$$ postgres --single -D "$1" -c exit_on_error=on -c log_min_error_statement=panic postgres > /dev/null
}

file=${PALAESTRA_DATABASE_PASSWORD_FILE:-}
[ -n "$file" ] || fail "PALAESTRA_DATABASE_PASSWORD_FILE is not set; there is no default password"
[ -f "$file" ] && [ -r "$file" ] || fail "PALAESTRA_DATABASE_PASSWORD_FILE=$file: has to be a file that user $(id -u) may read"
password=$(cat "$file")
case $password in
  '' | *'
'*) fail "PALAESTRA_DATABASE_PASSWORD_FILE=$file: has to hold the password in one line; there is no default password" ;;
esac

if [ ! -e "$PGDATA/PG_VERSION" ]; then
  # A start that is killed leaves the folder under its other name, and the next one begins anew.
  rm -rf "$PGDATA.new"
  initdb -D "$PGDATA.new" -U postgres --auth-local=peer --auth-host=scram-sha-256 --data-checksums --no-instructions \
    --locale=C.UTF-8 -E UTF8
  echo "host palaestra palaestra all scram-sha-256" >> "$PGDATA.new/pg_hba.conf"
  printf 'CREATE ROLE palaestra LOGIN;\nCREATE DATABASE palaestra OWNER palaestra;\n' | statements "$PGDATA.new"
  mv "$PGDATA.new" "$PGDATA"
fi
quoted=$(printf %s "$password" | sed "s/'/''/g")
printf "ALTER ROLE palaestra PASSWORD '%s';\n" "$quoted" | statements "$PGDATA"
unset password quoted
exec postgres -c listen_addresses='*' -c unix_socket_directories=/run/postgresql
