//! Folders and git repositories made for one test.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A folder, which becomes a git repository with the first commit.
pub(crate) struct Repository {
    folder: TempDir,
}

impl Repository {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let repository = Self { folder: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            repository.write(path, text.as_bytes());
        }
        repository
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.path(), args, "")
    }

    pub(crate) fn git_with_input(&self, args: &[&str], input: &str) -> String {
        git(self.path(), args, input)
    }

    /// Commits everything, ignored files too; the commit's id comes back.
    pub(crate) fn commit(&self) -> String {
        if !self.path().join(".git").exists() {
            self.git(&["init", "-q"]);
        }
        self.git(&["add", "-A", "-f"]);
        self.git(&["commit", "-qm", "commit"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// A bare clone beside it.
    pub(crate) fn bare_clone(&self) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["clone", "-q", "--bare", &self.path().display().to_string(), "bare"], "");
        let path = folder.path().join("bare");
        (folder, path)
    }
}

/// Runs git without any configuration but what is given here.
fn git(folder: &Path, args: &[&str], input: &str) -> String {
    let mut child = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=trunk"])
        .args(["-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
