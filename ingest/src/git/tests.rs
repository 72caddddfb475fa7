//! Fetches from folders of this machine, which go the same way as those over https from the first list of refs on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=trunk"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A remote and a place for its mirror.
struct World {
    remote: tempfile::TempDir,
    target: tempfile::TempDir,
}

impl World {
    fn empty() -> Self {
        let world = Self { remote: tempfile::tempdir().unwrap(), target: tempfile::tempdir().unwrap() };
        world.git(&["init", "-q"]);
        world
    }

    /// Two commits and a tag on each.
    fn new() -> Self {
        let world = Self::empty();
        for name in ["a.ts", "b.ts"] {
            world.commit(name, "export {}\n");
            world.git(&["tag", &format!("v-{name}")]);
        }
        world
    }

    fn git(&self, args: &[&str]) -> String {
        git(self.remote.path(), args)
    }

    fn commit(&self, name: &str, text: &str) -> String {
        fs::write(self.remote.path().join(name), text).unwrap();
        self.git(&["add", "."]);
        self.git(&["commit", "-qm", name]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn mirror(&self) -> PathBuf {
        self.target.path().join("mirror")
    }

    fn request(&self, refs: &[&str]) -> FetchRequest {
        FetchRequest {
            url: format!("file://{}", self.remote.path().display()),
            refs: refs.iter().map(|text| (*text).to_owned()).collect(),
            mirror: Some(self.mirror()),
            fresh: false,
            credential: None,
            proxy: None,
            limits: FetchLimits::default(),
        }
    }

    fn fetch(&self, refs: &[&str]) -> Fetched {
        fetch(&self.request(refs)).unwrap()
    }
}

/// How many packs a mirror's repository has.
fn packs(fetched: &Fetched) -> usize {
    let packs = fs::read_dir(fetched.repository.as_ref().unwrap().join("objects/pack")).unwrap();
    packs.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|kind| kind == "pack")).count()
}

/// What a commit of a mirror holds.
fn files(fetched: &Fetched, commit: &str) -> Vec<String> {
    let text = git(fetched.repository.as_ref().unwrap(), &["ls-tree", "-r", "--name-only", commit]);
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_commit_comes_without_its_history_and_the_next_one_brings_what_is_new() {
    let world = World::new();
    let first = world.git(&["rev-parse", "HEAD"]);
    let fetched = world.fetch(&["HEAD"]);
    let head = &fetched.heads[0];
    assert_eq!((head.commit.as_str(), head.branch.as_deref()), (first.as_str(), Some("trunk")));
    assert_eq!(head.committed_at.unwrap().to_string(), world.git(&["log", "-1", "--format=%ct"]));
    let repository = fetched.repository.clone().unwrap();
    assert_eq!(git(&repository, &["rev-parse", "--is-bare-repository"]), "true");
    assert_eq!(git(&repository, &["rev-list", "--count", &first]), "1");
    assert!(!repository.join("hooks").exists() && !repository.join("a.ts").exists());
    assert_eq!(files(&fetched, &first), ["a.ts", "b.ts"]);

    let again = world.fetch(&["HEAD"]);
    assert_eq!((again.heads.clone(), again.repository.clone()), (fetched.heads.clone(), fetched.repository.clone()));
    assert_eq!(packs(&again), 1, "nothing is new");

    let second = world.commit("c.ts", "export const c = 1;\n");
    let next = world.fetch(&["HEAD"]);
    assert_eq!(next.heads[0].commit, second);
    assert_eq!(next.repository, fetched.repository, "into the same repository");
    assert_eq!(packs(&next), 2);
    assert_eq!(files(&next, &second), ["a.ts", "b.ts", "c.ts"]);
    let packs = fs::read_dir(repository.join("objects/pack")).unwrap().map(|entry| entry.unwrap().path());
    let mut counts: Vec<_> = packs
        .filter(|path| path.extension().is_some_and(|kind| kind == "idx"))
        .map(|path| gix::odb::pack::index::File::at(path, gix::hash::Kind::Sha1).unwrap().num_objects())
        .collect();
    counts.sort_unstable();
    // A commit, its tree and a file; the second pack may repeat the base of a delta.
    assert!(counts[0] >= 3 && counts[1] <= 4, "{counts:?}");
}

#[test]
fn several_refs_share_a_mirror_and_each_is_answered_for_itself() {
    let world = World::new();
    let trunk = world.git(&["rev-parse", "HEAD"]);
    world.git(&["checkout", "-qb", "release/1"]);
    let release = world.commit("r.ts", "export const r = 1;\n");
    world.git(&["tag", "-am", "annotated", "v1"]);
    world.git(&["checkout", "-q", "trunk"]);
    let first = world.git(&["rev-parse", "HEAD~1"]);
    let fetched = world.fetch(&["HEAD", "release/*", "v1", "v-a.ts", "gone", &trunk]);
    let found: Vec<_> = fetched.heads.iter().map(|head| (head.name.as_str(), head.commit.as_str())).collect();
    assert_eq!(
        found,
        [
            ("HEAD", trunk.as_str()),
            ("refs/heads/release/1", &release),
            ("refs/tags/v1", &release),
            ("refs/tags/v-a.ts", &first),
            (&trunk, &trunk)
        ]
    );
    assert_eq!((fetched.missing.as_slice(), fetched.empty), (["gone".to_owned()].as_slice(), false));
    for commit in [&trunk, &release, &first] {
        assert!(!files(&fetched, commit).is_empty());
    }
}

#[test]
fn what_changed_at_the_remote_is_an_answer() {
    let world = World::new();
    let old = world.fetch(&["HEAD", "trunk"]).heads[0].commit.clone();
    // Another history under the same name.
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let forced = world.commit("f.ts", "export const f = 1;\n");
    let fetched = world.fetch(&["HEAD"]);
    assert_eq!(fetched.heads[0].commit, forced);
    assert_ne!(forced, old);
    assert_eq!(files(&fetched, &forced), ["a.ts", "f.ts"]);
    // Another default branch, and the old one gone.
    world.git(&["branch", "-m", "trunk", "main"]);
    let fetched = world.fetch(&["HEAD", "trunk"]);
    assert_eq!(
        (fetched.heads[0].branch.as_deref(), fetched.missing.as_slice()),
        (Some("main"), ["trunk".to_owned()].as_slice())
    );
    assert_eq!(last_head(&world.mirror(), "trunk"), None);
    assert_eq!(last_head(&world.mirror(), "HEAD").unwrap().1.commit, forced);
}

#[test]
fn an_empty_repository_and_a_head_that_leads_nowhere_are_told_apart() {
    let world = World::empty();
    let fetched = world.fetch(&["HEAD"]);
    assert!(fetched.empty && fetched.heads.is_empty() && fetched.repository.is_none(), "{fetched:?}");
    world.commit("a.ts", "");
    world.git(&["symbolic-ref", "HEAD", "refs/heads/elsewhere"]);
    let fetched = world.fetch(&["HEAD"]);
    assert!(!fetched.empty && fetched.missing == ["HEAD"], "{fetched:?}");
}

#[test]
fn heads_are_listed_without_a_mirror() {
    let world = World::new();
    let request = FetchRequest { mirror: None, ..world.request(&["HEAD", "trunk", "nothing/*"]) };
    let listed = fetch(&request).unwrap();
    let found: Vec<_> = listed.heads.iter().map(|head| (head.name.as_str(), head.committed_at)).collect();
    assert_eq!(found, [("HEAD", None), ("refs/heads/trunk", None)]);
    assert_eq!((listed.repository, fs::read_dir(world.target.path()).unwrap().count()), (None, 0));
}

#[test]
fn what_can_not_be_had_leaves_nothing() {
    let world = World::new();
    for (rev, code) in [
        ("..", FaultCode::Refused),
        ("-x", FaultCode::Refused),
        ("a b", FaultCode::Refused),
        (&*"0".repeat(40), FaultCode::Protocol),
    ] {
        let fault = fetch(&world.request(&[rev])).unwrap_err();
        assert_eq!(fault.code, code, "{rev}: {fault}");
        assert_eq!(current(&world.mirror()), None, "{rev}");
    }
    let blob = world.git(&["hash-object", "-w", "a.ts"]);
    world.git(&["update-ref", "refs/tags/blob", &blob]);
    let fetched = world.fetch(&["HEAD", "blob"]);
    assert_eq!((fetched.heads.len(), fetched.left_out[0].reason.as_str()), (1, "no_commit"));
}

#[test]
fn a_fetch_ends_at_its_limits() {
    let world = World::new();
    let limits = FetchLimits { bytes: 10, ..FetchLimits::default() };
    let fault = fetch(&FetchRequest { limits, ..world.request(&["HEAD"]) }).unwrap_err();
    assert_eq!(fault.code, FaultCode::TooLarge, "{fault}");
    assert_eq!(numbers_of(&world.mirror()), ["lock"], "nothing of it is left");
    let limits = FetchLimits { refs: 1, ..FetchLimits::default() };
    world.git(&["branch", "other", "HEAD~1"]);
    let fetched = fetch(&FetchRequest { limits, ..world.request(&["*"]) }).unwrap();
    assert_eq!((fetched.heads.len(), fetched.left_out[0].reason.as_str()), (1, "too_many"));
}

#[test]
fn a_damaged_or_worn_mirror_is_made_anew() {
    let world = World::new();
    let fetched = world.fetch(&["HEAD"]);
    let repository = fetched.repository.clone().unwrap();
    let commit = world.commit("c.ts", "export const c = 1;\n");
    for damage in ["config", "pack", "heads", "objects"] {
        let path = current(&world.mirror()).unwrap();
        match damage {
            "config" => fs::write(path.join("config"), "[").unwrap(),
            "heads" => fs::write(path.join("sync-heads.json"), "[").unwrap(),
            "objects" => fs::remove_dir_all(path.join("objects")).unwrap(),
            _ => {
                for entry in fs::read_dir(path.join("objects/pack")).unwrap().flatten() {
                    fs::remove_file(entry.path()).unwrap();
                    fs::write(entry.path(), "damaged").unwrap();
                }
            }
        }
        let again = world.fetch(&["HEAD"]);
        assert_eq!(again.heads[0].commit, commit, "{damage}");
        assert_eq!(files(&again, &commit), ["a.ts", "b.ts", "c.ts"], "{damage}");
    }
    assert!(!repository.exists(), "what does not count any more is removed");
    let fresh = fetch(&FetchRequest { fresh: true, ..world.request(&["HEAD"]) }).unwrap();
    assert_eq!(packs(&fresh), 1);
    let repository = fresh.repository.unwrap();
    for n in 0..50 {
        fs::write(repository.join(format!("objects/pack/pack-{n}.pack")), "").unwrap();
    }
    assert_eq!(packs(&world.fetch(&["HEAD"])), 1);
}

#[test]
fn two_at_once_follow_one_another() {
    let world = World::new();
    let commit = world.git(&["rev-parse", "HEAD"]);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(|| world.fetch(&["HEAD"]))).collect();
        for fetched in all {
            let fetched = fetched.join().unwrap();
            assert_eq!(files(&fetched, &commit), ["a.ts", "b.ts"]);
        }
    });
    assert_eq!(numbers_of(&world.mirror()), ["1", "lock"]);
}

fn numbers_of(mirror: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(mirror).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
