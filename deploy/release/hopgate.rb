class Hopgate < Formula
  desc "Graph query gateway for openCypher and JSON-array fetches"
  homepage "https://github.com/hopgate/hopgate"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/hopgate/hopgate/releases/download/v#{version}/hopgate_#{version}_darwin_arm64.tar.gz"
      sha256 "@darwin_arm64@"
    end
    on_intel do
      url "https://github.com/hopgate/hopgate/releases/download/v#{version}/hopgate_#{version}_darwin_amd64.tar.gz"
      sha256 "@darwin_amd64@"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/hopgate/hopgate/releases/download/v#{version}/hopgate_#{version}_linux_arm64.tar.gz"
      sha256 "@linux_arm64@"
    end
    on_intel do
      url "https://github.com/hopgate/hopgate/releases/download/v#{version}/hopgate_#{version}_linux_amd64.tar.gz"
      sha256 "@linux_amd64@"
    end
  end

  def install
    bin.install "hopgate", "graphctl"
    man1.install Dir["man/*"]
    bash_completion.install Dir["completions/bash/*"]
    fish_completion.install Dir["completions/fish/*"]
    zsh_completion.install Dir["completions/zsh/*"]
  end

  service do
    run [opt_bin/"hopgate", "serve", "--data-dir", var/"hopgate"]
    keep_alive true
    log_path var/"log/hopgate.log"
    error_log_path var/"log/hopgate.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/hopgate --version")
  end
end
