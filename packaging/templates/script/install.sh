#!/bin/sh
# Installs extsort @VERSION@ for Linux or macOS: downloads the archive of the release, compares its SHA-256 checksum with
# the one below, and installs the command, its manual pages and the completions. If anything is wrong, it installs
# nothing. packaging/channels fills it in.
#
#   sh install.sh [--prefix DIRECTORY]     otherwise /usr/local for root, and ~/.local for other users
set -eu

main() {
	prefix=$HOME/.local
	[ "$(id -u)" != 0 ] || prefix=/usr/local
	case $#/${1-} in
	0/) ;;
	2/--prefix) prefix=$2 ;;
	*) fail "usage: install.sh [--prefix DIRECTORY]" ;;
	esac

	case $(uname -s)/$(uname -m) in
	Linux/x86_64) platform=linux-amd64 sum=@SHA256 extsort-@VERSION@-linux-amd64.tar.gz@ ;;
	Linux/aarch64 | Linux/arm64) platform=linux-arm64 sum=@SHA256 extsort-@VERSION@-linux-arm64.tar.gz@ ;;
	Darwin/x86_64) platform=darwin-amd64 sum=@SHA256 extsort-@VERSION@-darwin-amd64.tar.gz@ ;;
	Darwin/arm64) platform=darwin-arm64 sum=@SHA256 extsort-@VERSION@-darwin-arm64.tar.gz@ ;;
	*) fail "there is no archive for $(uname -s) on $(uname -m): build extsort from source" ;;
	esac

	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' HUP INT TERM
	download "@URL@/extsort-@VERSION@-$platform.tar.gz" "$work/archive.tar.gz"
	[ "$(checksum "$work/archive.tar.gz")" = "$sum" ] ||
		fail "the archive has another checksum than expected ($sum): nothing was installed"
	tar -xzf "$work/archive.tar.gz" -C "$work"
	place "$work/extsort-@VERSION@-$platform"

	echo "extsort @VERSION@ is installed in $prefix/bin"
	case :$PATH: in
	*:"$prefix/bin":*) ;;
	*) echo "add it to PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
	esac
}

fail() {
	echo "install.sh: $1" >&2
	exit 1
}

# download URL FILE
download() {
	if command -v curl >/dev/null; then
		curl -fsSL -o "$2" "$1" || fail "$1 cannot be downloaded"
	elif command -v wget >/dev/null; then
		wget -q -O "$2" "$1" || fail "$1 cannot be downloaded"
	else
		fail "neither curl nor wget is installed"
	fi
}

# checksum FILE prints its SHA-256 checksum.
checksum() {
	if command -v sha256sum >/dev/null; then
		sha256sum <"$1"
	elif command -v shasum >/dev/null; then
		shasum -a 256 <"$1"
	elif command -v openssl >/dev/null; then
		openssl dgst -sha256 -r <"$1"
	else
		fail "neither sha256sum nor shasum nor openssl is installed to check the archive"
	fi | cut -d ' ' -f 1
}

# place DIRECTORY installs the files of an unpacked archive. The command comes last, under its name only when it is
# complete.
place() {
	mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/doc/extsort" \
		"$prefix/share/bash-completion/completions" "$prefix/share/zsh/site-functions" \
		"$prefix/share/fish/vendor_completions.d"
	cp "$1"/*.1.gz "$prefix/share/man/man1/"
	cp "$1/LICENSE" "$1/LICENSES" "$prefix/share/doc/extsort/"
	cp "$1/extsort.bash" "$prefix/share/bash-completion/completions/extsort"
	cp "$1/_extsort" "$prefix/share/zsh/site-functions/_extsort"
	cp "$1/extsort.fish" "$prefix/share/fish/vendor_completions.d/extsort.fish"
	cp "$1/extsort" "$prefix/bin/.extsort.new"
	mv "$prefix/bin/.extsort.new" "$prefix/bin/extsort"
}

main "$@" # the last line, so that a download that broke off runs nothing
