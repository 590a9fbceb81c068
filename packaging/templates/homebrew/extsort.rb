# Formula of the tap extsort/homebrew-tap. packaging/channels fills it in.
class Extsort < Formula
  desc "Sort files of fixed-size binary records that are larger than memory"
  homepage "https://github.com/extsort/extsort"
  version "@VERSION@"
  license "MIT"

  on_macos do
    on_arm do
      url "@URL@/extsort-@VERSION@-darwin-arm64.tar.gz"
      sha256 "@SHA256 extsort-@VERSION@-darwin-arm64.tar.gz@"
    end
    on_intel do
      url "@URL@/extsort-@VERSION@-darwin-amd64.tar.gz"
      sha256 "@SHA256 extsort-@VERSION@-darwin-amd64.tar.gz@"
    end
  end

  on_linux do
    on_arm do
      url "@URL@/extsort-@VERSION@-linux-arm64.tar.gz"
      sha256 "@SHA256 extsort-@VERSION@-linux-arm64.tar.gz@"
    end
    on_intel do
      url "@URL@/extsort-@VERSION@-linux-amd64.tar.gz"
      sha256 "@SHA256 extsort-@VERSION@-linux-amd64.tar.gz@"
    end
  end

  def install
    bin.install "extsort"
    man1.install Dir["*.1.gz"]
    bash_completion.install "extsort.bash" => "extsort"
    zsh_completion.install "_extsort"
    fish_completion.install "extsort.fish"
    doc.install "LICENSES"
  end

  test do
    assert_match "extsort v#{version}", shell_output("#{bin}/extsort --version")
    system bin/"extsort", "gen", "-t", "u64", "-n", "1000", "-o", "keys"
    system bin/"extsort", "-t", "u64", "-o", "sorted", "keys"
    system bin/"extsort", "-t", "u64", "-c", "sorted"
  end
end
