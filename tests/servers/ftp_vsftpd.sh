#!/bin/sh
# vsftpd with a user the_user/the_password whom only this process and its children know: the files that tell of users
# are laid over those of the machine in a mount namespace of its own. Needs root. Arguments: a folder, the configuration.
set -eu
folder=$1
configuration=$2
mkdir -p "$folder/pam.d" "$folder/nothing"
# nodelay: without it a wrong password takes two seconds.
printf 'auth required pam_unix.so nodelay\naccount required pam_permit.so\n' >"$folder/pam.d/palaver"
umask 077
{ grep -v '^the_user:' /etc/passwd; echo "the_user:x:65534:65534::$folder/home:/bin/sh"; } >"$folder/passwd"
{ grep -v '^the_user:' /etc/shadow; echo "the_user:$(openssl passwd -6 the_password):19000::::::"; } >"$folder/shadow"
chmod 644 "$folder/passwd"
exec unshare --mount --propagation private sh -eu -c '
    mount --bind "$1/pam.d" /etc/pam.d
    mount --bind "$1/passwd" /etc/passwd
    mount --bind "$1/shadow" /etc/shadow
    exec vsftpd "$2"
' sh "$folder" "$configuration"
