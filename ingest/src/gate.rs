//! Whether a path should be indexed at all.

use std::fmt;
use std::str::FromStr;

/// What the gate is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gate {
    /// Index, partial where the tree is too large. The command line's default.
    #[default]
    On,
    /// Refuse always.
    Off,
    /// Refuse what nobody meant to index. A registered source's default.
    Auto,
}

impl Gate {
    /// The word used on the command line and in the header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Auto => "auto",
        }
    }
}

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            "auto" => Ok(Self::Auto),
            _ => Err("the gate is `on`, `off` or `auto`".to_owned()),
        }
    }
}

/// Why the gate refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Under `auto`: not a git repository.
    NoGitRepo,
    /// Under `auto`: a folder holding several repositories, not one.
    SeveralRepos,
    /// Under `auto`: more entries or bytes than a repository has.
    TooLarge,
    /// A home folder, or one above it.
    HomeFolder,
    /// The gate is `off`.
    Disabled,
}

impl Refusal {
    /// The word used in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoGitRepo => "no_git_repo",
            Self::SeveralRepos => "several_repos",
            Self::TooLarge => "too_large",
            Self::HomeFolder => "home_folder",
            Self::Disabled => "disabled",
        }
    }

    /// What to do about it.
    pub const fn next_step(self) -> &'static str {
        match self {
            Self::NoGitRepo => {
                "give the root of a git repository (`git init` and a commit make a folder one); `index --gate on` takes plain folders too"
            }
            Self::SeveralRepos => "give the path of one of them; `index --gate on` takes them as one",
            Self::TooLarge => "give a smaller repository; `index --gate on` takes as much of it as fits",
            Self::HomeFolder => "give the path of one repository inside it",
            Self::Disabled => "set `--gate on` or `--gate auto`",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoGitRepo => "it is not a git repository (no_git_repo)",
            Self::SeveralRepos => "it holds several repositories and is none itself (several_repos)",
            Self::TooLarge => "it is too large to be one repository (too_large)",
            Self::HomeFolder => "it is a home folder or above one (home_folder)",
            Self::Disabled => "indexing is switched off for it (disabled)",
        })
    }
}
