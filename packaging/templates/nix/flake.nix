# packaging/channels fills it in. The command is linked statically, so it needs no patch for NixOS.
{
  description = "Sort files of fixed-size binary records that are larger than memory";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      version = "@VERSION@";
      archives = {
        x86_64-linux = {
          platform = "linux-amd64";
          sha256 = "@SHA256 extsort-@VERSION@-linux-amd64.tar.gz@";
        };
        aarch64-linux = {
          platform = "linux-arm64";
          sha256 = "@SHA256 extsort-@VERSION@-linux-arm64.tar.gz@";
        };
        x86_64-darwin = {
          platform = "darwin-amd64";
          sha256 = "@SHA256 extsort-@VERSION@-darwin-amd64.tar.gz@";
        };
        aarch64-darwin = {
          platform = "darwin-arm64";
          sha256 = "@SHA256 extsort-@VERSION@-darwin-arm64.tar.gz@";
        };
      };
    in
    {
      packages = nixpkgs.lib.mapAttrs
        (system: archive:
          let pkgs = nixpkgs.legacyPackages.${system}; in
          {
            default = pkgs.stdenvNoCC.mkDerivation {
              pname = "extsort";
              inherit version;
              src = pkgs.fetchurl {
                url = "@URL@/extsort-${version}-${archive.platform}.tar.gz";
                inherit (archive) sha256;
              };
              nativeBuildInputs = [ pkgs.installShellFiles ];
              installPhase = ''
                install -Dm755 extsort $out/bin/extsort
                installManPage *.1.gz
                installShellCompletion --cmd extsort --bash extsort.bash --zsh _extsort --fish extsort.fish
                install -Dm644 -t $out/share/doc/extsort LICENSE LICENSES
              '';
              meta = {
                description = "Sort files of fixed-size binary records that are larger than memory";
                homepage = "https://github.com/extsort/extsort";
                license = pkgs.lib.licenses.mit;
                mainProgram = "extsort";
                platforms = [ system ];
              };
            };
          })
        archives;
    };
}
