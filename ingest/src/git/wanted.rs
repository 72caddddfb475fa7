//! Which of the refs that a remote has are those that were asked for.

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::protocol::handshake::Ref;
use gix_glob::wildmatch;
use sync_core::text::shown;

use super::answer::{Fault, FaultCode, LeftOut};

/// Longest name of a ref, in bytes.
const MAX_NAME: usize = 255;

const BRANCHES: &str = "refs/heads/";
const TAGS: &str = "refs/tags/";

/// One thing that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// What the remote shows first.
    Head,
    /// A full name, `refs/…`.
    Full(String),
    /// A branch, or else a tag.
    Short(String),
    /// Branches whose name is like this.
    Pattern(String),
    /// A commit.
    Commit(ObjectId),
}

/// A ref that is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    /// What it was asked as.
    pub(super) asked: String,
    /// Its full name, `HEAD`, or a commit id.
    pub(super) name: String,
    /// The branch that it is.
    pub(super) branch: Option<String>,
    /// What it names: a commit, or a tag of one.
    pub(super) id: ObjectId,
    /// The commit that the remote says it leads to.
    pub(super) commit: ObjectId,
}

/// What becomes of what was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) chosen: Vec<Chosen>,
    pub(super) missing: Vec<String>,
    pub(super) left_out: Vec<LeftOut>,
}

impl Wanted {
    /// Reads what was asked for; what can be no ref's name is refused.
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        let refused = || {
            let what = format!("`{}` is no branch, tag, pattern or full commit id", shown(text, 100));
            Err(Fault::new(FaultCode::Refused, what))
        };
        if text == "HEAD" {
            return Ok(Self::Head);
        }
        if text.len() == 40
            && let Ok(id) = ObjectId::from_hex(text.as_bytes())
        {
            return Ok(Self::Commit(id));
        }
        let is_pattern = text.contains(['*', '?', '[']);
        // What a pattern has beside its signs must still be the letters of names.
        let plain = text.replace(['*', '?', '[', ']', '!'], "x");
        let full = if plain.starts_with("refs/") { plain } else { format!("{BRANCHES}{plain}") };
        if text.starts_with('-') || !is_name(full.as_bytes().as_bstr()) {
            return refused();
        }
        Ok(match (is_pattern, text.strip_prefix(BRANCHES)) {
            (true, Some(short)) => Self::Pattern(short.to_owned()),
            (true, None) if text.starts_with("refs/") => return refused(),
            (true, None) => Self::Pattern(text.to_owned()),
            (false, _) if text.starts_with("refs/") => Self::Full(text.to_owned()),
            (false, _) => Self::Short(text.to_owned()),
        })
    }

    /// Beginnings of the names that the remote is to list for it.
    pub(super) fn prefixes(&self) -> Vec<BString> {
        let owned = |text: String| BString::from(text);
        match self {
            Self::Head => vec![owned("HEAD".to_owned())],
            Self::Full(name) => vec![owned(name.clone())],
            Self::Short(name) => vec![owned(format!("{BRANCHES}{name}")), owned(format!("{TAGS}{name}"))],
            Self::Pattern(pattern) => {
                let plain = pattern.split(['*', '?', '[']).next().unwrap_or_default();
                vec![owned(format!("{BRANCHES}{plain}"))]
            }
            Self::Commit(_) => Vec::new(),
        }
    }

    fn is(&self, name: &str) -> bool {
        match self {
            Self::Head => name == "HEAD",
            Self::Full(full) => name == full,
            Self::Short(short) => {
                name.strip_prefix(BRANCHES).or_else(|| name.strip_prefix(TAGS)).is_some_and(|name| name == short)
            }
            Self::Pattern(pattern) => name.strip_prefix(BRANCHES).is_some_and(|name| {
                gix_glob::wildmatch(pattern.as_str().into(), name.into(), wildmatch::Mode::NO_MATCH_SLASH_LITERAL)
            }),
            Self::Commit(_) => false,
        }
    }
}

/// Chooses among what the remote lists, at most `max`, in the order of asking and then of names.
pub(super) fn choose(wanted: &[(String, Wanted)], listed: &[Ref], max: usize) -> Choice {
    let mut choice = Choice::default();
    let mut known: Vec<(&str, &Ref)> = Vec::new();
    for one in listed {
        let (name, target, _) = one.unpack();
        match name.to_str().ok().filter(|_| name == "HEAD" || is_name(name)) {
            Some(name) if target.is_some() => known.push((name, one)),
            Some(_) => {}
            None => choice.leave_out(&name.to_str_lossy(), "bad_name"),
        }
    }
    known.sort_by_key(|(name, _)| *name);
    for (asked, wanted) in wanted {
        if let Wanted::Commit(id) = wanted {
            let name = id.to_hex().to_string();
            choice.take(Chosen { asked: asked.clone(), name, branch: None, id: *id, commit: *id }, max);
            continue;
        }
        let mut is_found = false;
        for (name, one) in known.iter().filter(|(name, _)| wanted.is(name)) {
            // Names are in order, and branches stand before tags.
            if is_found && matches!(wanted, Wanted::Short(_)) {
                break;
            }
            is_found = true;
            choice.take(chosen(asked, name, one), max);
        }
        // No branch is like a pattern today: that is nothing that went away.
        if !is_found && !matches!(wanted, Wanted::Pattern(_)) {
            choice.missing.push(asked.clone());
        }
    }
    choice
}

impl Choice {
    fn take(&mut self, chosen: Chosen, max: usize) {
        if self.chosen.iter().any(|other| other.name == chosen.name) {
            return;
        }
        if self.chosen.len() < max {
            self.chosen.push(chosen);
        } else {
            self.leave_out(&chosen.name, "too_many");
        }
    }

    /// Of refs that are not taken, as many are named as may be taken.
    pub(super) fn leave_out(&mut self, name: &str, reason: &str) {
        const NAMED: usize = 100;
        if self.left_out.len() < NAMED {
            self.left_out.push(LeftOut { name: shown(name, 100), reason: reason.to_owned() });
        }
    }
}

fn chosen(asked: &str, name: &str, listed: &Ref) -> Chosen {
    let (id, commit, target) = match listed {
        Ref::Peeled { tag, object, .. } => (*tag, *object, None),
        Ref::Direct { object, .. } => (*object, *object, None),
        Ref::Symbolic { target, tag, object, .. } => (tag.unwrap_or(*object), *object, Some(target)),
        // Filtered before: it names nothing.
        Ref::Unborn { target, .. } => {
            (ObjectId::null(gix::hash::Kind::Sha1), ObjectId::null(gix::hash::Kind::Sha1), Some(target))
        }
    };
    let target = target.filter(|target| is_name(target.as_bstr())).and_then(|target| target.to_str().ok());
    let branch = target.unwrap_or(name).strip_prefix(BRANCHES).map(str::to_owned);
    Chosen { asked: asked.to_owned(), name: name.to_owned(), branch, id, commit }
}

/// Whether it is the name of a ref as git takes them, and not too long.
fn is_name(name: &BStr) -> bool {
    name.len() <= MAX_NAME && name.to_str().is_ok() && gix::validate::reference::name(name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> ObjectId {
        ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).unwrap()
    }

    fn direct(name: &str, digit: char) -> Ref {
        Ref::Direct { full_ref_name: name.into(), object: id(digit) }
    }

    fn ask(refs: &[&str], listed: &[Ref]) -> Choice {
        let wanted: Vec<_> = refs.iter().map(|text| ((*text).to_owned(), Wanted::parse(text).unwrap())).collect();
        choose(&wanted, listed, 5)
    }

    fn listed() -> Vec<Ref> {
        vec![
            Ref::Symbolic {
                full_ref_name: "HEAD".into(),
                target: "refs/heads/trunk".into(),
                tag: None,
                object: id('1'),
            },
            direct("refs/heads/trunk", '1'),
            direct("refs/heads/trunk-2", '2'),
            direct("refs/heads/release/1", '3'),
            direct("refs/heads/release/1/fix", '4'),
            direct("refs/heads/v1", '5'),
            Ref::Peeled { full_ref_name: "refs/tags/v1".into(), tag: id('6'), object: id('7') },
            Ref::Peeled { full_ref_name: "refs/tags/v2".into(), tag: id('8'), object: id('9') },
            direct("refs/pull/7/head", 'a'),
        ]
    }

    #[test]
    fn refs_are_found_by_head_name_pattern_and_id() {
        let commit = "b".repeat(40);
        let refs = ["HEAD", "v1", "v2", "release/*", &commit];
        let choice = ask(&refs, &listed());
        let found: Vec<_> =
            choice.chosen.iter().map(|one| (one.name.as_str(), one.branch.as_deref(), one.commit)).collect();
        assert_eq!(
            found,
            [
                ("HEAD", Some("trunk"), id('1')),
                ("refs/heads/v1", Some("v1"), id('5')),
                ("refs/tags/v2", None, id('9')),
                ("refs/heads/release/1", Some("release/1"), id('3')),
                (commit.as_str(), None, id('b')),
            ]
        );
        assert_eq!(choice.chosen[2].id, id('8'), "the tag itself is asked for");
        assert_eq!(ask(&["refs/pull/7/head"], &listed()).chosen[0].commit, id('a'));
        assert_eq!(ask(&["release/**"], &listed()).chosen.len(), 2);
        assert_eq!(ask(&["trunk", "refs/heads/trunk"], &listed()).chosen.len(), 1, "the same ref once");
    }

    #[test]
    fn what_is_not_there_is_missing_and_a_pattern_may_match_nothing() {
        let choice = ask(&["gone", "refs/heads/gone", "none/*"], &listed());
        assert_eq!(choice.missing, ["gone", "refs/heads/gone"]);
        assert!(choice.chosen.is_empty());
        let unborn = [Ref::Unborn { full_ref_name: "HEAD".into(), target: "refs/heads/main".into() }];
        assert_eq!(ask(&["HEAD"], &unborn).missing, ["HEAD"]);
    }

    #[test]
    fn refs_beyond_the_limit_and_names_that_are_none_are_left_out() {
        let mut many: Vec<_> = (0..8).map(|n| direct(&format!("refs/heads/b{n}"), '1')).collect();
        for bad in ["refs/heads/../../x", "refs/heads/a\u{1b}[31m", "refs/heads/a.lock", "refs/heads/a b", "x"] {
            many.push(direct(bad, '2'));
        }
        many.push(direct(&format!("refs/heads/{}", "n".repeat(300)), '2'));
        many.push(Ref::Direct { full_ref_name: b"refs/heads/\xff".as_slice().into(), object: id('2') });
        let choice = ask(&["*"], &many);
        assert_eq!(choice.chosen.len(), 5);
        let count = |reason: &str| choice.left_out.iter().filter(|one| one.reason == reason).count();
        assert_eq!((count("too_many"), count("bad_name")), (3, 7));
        assert!(choice.left_out.iter().all(|one| !one.name.contains('\u{1b}') && one.name.len() < 400));
    }

    #[test]
    fn what_can_be_no_name_is_refused() {
        for text in [
            "",
            "-x",
            "..",
            "a..b",
            "a b",
            "a\nb",
            "/a",
            "a/",
            "a.lock",
            "@{-1}",
            "a~1",
            "a^",
            "a:b",
            "refs/*",
            "refs/tags/*",
            "HEAD~1",
            "\u{1b}",
        ] {
            assert_eq!(Wanted::parse(text).unwrap_err().code, FaultCode::Refused, "{text}");
        }
        assert!(Wanted::parse(&"n".repeat(300)).is_err());
        for (text, wanted) in [
            ("main", Wanted::Short("main".to_owned())),
            ("refs/heads/main", Wanted::Full("refs/heads/main".to_owned())),
            ("refs/heads/r-*", Wanted::Pattern("r-*".to_owned())),
        ] {
            assert_eq!(Wanted::parse(text).unwrap(), wanted);
        }
    }
}
