#!/bin/sh
# Runs a command as a root has it in a container of Docker's defaults: no new user namespaces, and few capabilities. With a
# number in AS_USER, as that plain user. It takes a root that may make user namespaces itself.
set -e
own=$(readlink /proc/self/ns/user)
# Users stand for themselves in the new namespace; only a process outside may say so.
(
  until [ "$(readlink /proc/$$/ns/user)" != "$own" ]; do sleep 0.01; done
  for map in gid_map uid_map; do echo 0 0 65536 > /proc/$$/$map; done
) &
# What is started there has the rights of a root from the next program on.
inside='
  until [ -n "$(cat /proc/self/uid_map)" ]; do sleep 0.01; done
  exec /bin/sh -c "$limit" sh "$@"
'
export limit='
  unset limit
  echo 0 > /proc/sys/user/max_user_namespaces
  kept=+chown,+dac_override,+fsetid,+fowner,+mknod,+net_raw,+setgid,+setuid,+setfcap,+setpcap
  kept=$kept,+net_bind_service,+sys_chroot,+kill,+audit_write
  user=${AS_USER:+--reuid=$AS_USER --regid=$AS_USER --clear-groups}
  unset AS_USER
  exec setpriv --bounding-set=-all,$kept $user -- "$@"
'
exec unshare --user -- /bin/sh -c "$inside" sh "$@"
