//! Servers that say what none should: each costs a fault that says what happened, within its limits, and leaves nothing.

use std::time::Duration;

use sync_ingest::git::{FaultCode, FetchLimits};

use super::Fetcher;
use super::forge::{Forge, Odd};
use super::packs::{Pack, id, repeated};

const COMMIT: &str = "author t <t@example.com> 1700000000 +0000\ncommitter t <t@example.com> 1700000000 +0000\n\nm\n";

/// A commit and its empty tree.
fn small(pack: &mut Pack) -> String {
    let commit = format!("tree {}\n{COMMIT}", id("tree", b""));
    pack.object(2, 0, b"");
    pack.object(1, commit.len() as u64, commit.as_bytes());
    id("commit", commit.as_bytes())
}

fn head(commit: &str) -> Vec<String> {
    vec![format!("{commit} HEAD symref-target:refs/heads/main"), format!("{commit} refs/heads/main")]
}

/// Every server has to end as said, with nothing in the mirror.
async fn ends(name: &str, odd: Odd, limits: FetchLimits, expected: FaultCode) {
    let forge = Forge::start().await;
    let url = forge.odd(name, odd);
    let mut worker = Fetcher::of(&forge).await;
    worker.limits = limits;
    let (code, what) = worker.fault(&url).await;
    assert_eq!(code, expected, "{name}: {what}");
    assert!(what.contains(name) && what.len() < 700, "{what}");
    let left: Vec<_> = std::fs::read_dir(worker.mirror()).into_iter().flatten().flatten().collect();
    assert!(left.iter().all(|entry| entry.file_name() == "lock"), "{name}: {left:?}");
}

#[tokio::test]
async fn a_hand_made_server_is_fetched_from_where_it_is_sound() {
    let forge = Forge::start().await;
    let mut pack = Pack::new();
    let commit = small(&mut pack);
    let url = forge.odd("sound", Odd::Serves { refs: head(&commit), pack: pack.finish(None) });
    let fetched = Fetcher::of(&forge).await.fetch(&url, &["HEAD"]).await.unwrap();
    assert_eq!(
        (fetched.heads[0].commit.as_str(), fetched.heads[0].committed_at),
        (commit.as_str(), Some(1_700_000_000))
    );
}

#[tokio::test]
async fn answers_of_http_are_told_apart() {
    for (code, expected) in [
        (401, FaultCode::CredentialWanted),
        (403, FaultCode::CredentialWanted),
        (404, FaultCode::NotFound),
        (410, FaultCode::NotFound),
        (429, FaultCode::Unreachable),
        (500, FaultCode::Unreachable),
        (503, FaultCode::Unreachable),
        (418, FaultCode::Protocol),
    ] {
        ends(&format!("s{code}"), Odd::Status(code), FetchLimits::default(), expected).await;
    }
    for (name, page) in [("page", "<html>"), ("empty", ""), ("zeros", "0000"), ("binary", "\u{0}\u{1}")] {
        ends(name, Odd::Page(page), FetchLimits::default(), FaultCode::Protocol).await;
    }
}

#[tokio::test]
async fn a_server_that_holds_a_fetch_up_or_never_ends_is_left() {
    let brief = FetchLimits { time: Duration::from_secs(1), ..FetchLimits::default() };
    ends("silent", Odd::Silent, brief, FaultCode::Timeout).await;
    let line = "2222222222222222222222222222222222222222 refs/heads/branch\n";
    ends("refs", Odd::Endless(line), FetchLimits::default(), FaultCode::TooLarge).await;
}

#[tokio::test]
async fn certificates_are_checked() {
    let (forge, stranger) = (Forge::start().await, Forge::named("other.example", None).await);
    let worker = Fetcher::of(&forge).await;
    let (code, what) = worker.fault(&stranger.url("unknown")).await;
    assert_eq!(code, FaultCode::Unreachable, "an authority that is not trusted: {what}");
    let (code, what) = Fetcher::of(&stranger).await.fault(&stranger.url("misnamed")).await;
    assert_eq!(code, FaultCode::Unreachable, "another name: {what}");
    let plain = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = plain.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = plain.accept().await {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await;
        }
    });
    let (code, what) = worker.fault(&format!("https://localhost:{port}/plain")).await;
    assert_eq!(code, FaultCode::Unreachable, "no TLS at all: {what}");
    assert!(stranger.heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn packs_that_lie_or_unfold_are_refused() {
    let mut packs: Vec<(&str, String, Vec<u8>, FaultCode)> = Vec::new();
    let mut sound = Pack::new();
    let commit = small(&mut sound);
    let whole = sound.finish(None);
    packs.push(("garbage", commit.clone(), vec![0x55; 100_000], FaultCode::Protocol));
    packs.push(("nothing", commit.clone(), Vec::new(), FaultCode::Protocol));
    packs.push(("cut", commit.clone(), whole[..whole.len() / 2].to_vec(), FaultCode::Protocol));
    let mut flipped = whole.clone();
    let at = flipped.len() - 30;
    flipped[at] ^= 0x55;
    packs.push(("flipped", commit.clone(), flipped, FaultCode::Protocol));
    packs.push(("many", commit.clone(), sound.finish(Some(u32::MAX)), FaultCode::TooLarge));
    packs.push(("other", "1".repeat(40), whole, FaultCode::Protocol));
    // A blob that is said to have four gigabytes and has four bytes.
    let mut lies = Pack::new();
    let commit = small(&mut lies);
    lies.object(3, 4 << 30, b"four");
    packs.push(("lies", commit, lies.finish(None), FaultCode::Protocol));
    // 64 KiB become 64 MiB become 1 GiB.
    let mut bomb = Pack::new();
    let commit = small(&mut bomb);
    let base = bomb.object(3, 65_536, &vec![0; 65_536]);
    let large = bomb.delta(base, &repeated(65_536, 65_536, 1024));
    bomb.delta(large, &repeated(64 << 20, 16 << 20 >> 1, 128));
    packs.push(("bomb", commit, bomb.finish(None), FaultCode::TooLarge));
    // A delta of a base that is said to be larger than it is.
    let mut odd = Pack::new();
    let commit = small(&mut odd);
    let base = odd.object(3, 4, b"four");
    odd.delta(base, &repeated(1 << 40, 1, 1));
    packs.push(("base", commit, odd.finish(None), FaultCode::TooLarge));
    for (name, commit, pack, expected) in packs {
        ends(name, Odd::Serves { refs: head(&commit), pack }, FetchLimits::default(), expected).await;
    }
}

#[tokio::test]
async fn a_pack_beyond_the_limit_of_a_mirror_is_left() {
    let mut pack = Pack::new();
    let commit = small(&mut pack);
    let noise: Vec<u8> = (0..3_000_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    pack.object(3, noise.len() as u64, &noise);
    let limits = FetchLimits { bytes: 1 << 20, ..FetchLimits::default() };
    ends("large", Odd::Serves { refs: head(&commit), pack: pack.finish(None) }, limits, FaultCode::TooLarge).await;
}

#[tokio::test]
async fn names_of_refs_that_are_none_are_left_out_and_lead_to_no_file() {
    let forge = Forge::start().await;
    let mut pack = Pack::new();
    let commit = small(&mut pack);
    let mut refs = head(&commit);
    let names =
        ["../../../../etc/cron.d/x", "refs/heads/../../x", "refs/heads/a\u{1b}[31m", "refs/heads/a.lock", "/etc/x"];
    refs.extend(names.iter().map(|name| format!("{commit} {name}")));
    refs.push(format!("{commit} refs/heads/{}", "n".repeat(5000)));
    refs.push("not-an-id refs/heads/y".to_owned());
    let url = forge.odd("names", Odd::Serves { refs: refs.clone(), pack: pack.finish(None) });
    let worker = Fetcher::of(&forge).await;
    // A line that is none of git's spoils the list.
    assert_eq!(worker.fault(&url).await.0, FaultCode::Protocol);
    refs.pop();
    let url = forge.odd("names", Odd::Serves { refs, pack: pack.finish(None) });
    let fetched = worker.fetch(&url, &["HEAD", "*"]).await.unwrap();
    assert_eq!(fetched.heads.iter().map(|head| head.name.as_str()).collect::<Vec<_>>(), ["HEAD", "refs/heads/main"]);
    assert_eq!(fetched.left_out.len(), names.len() + 1, "{:?}", fetched.left_out);
    assert!(fetched.left_out.iter().all(|one| !one.name.contains('\u{1b}') && one.name.len() < 400));
}

#[tokio::test]
async fn heads_that_are_no_commits_are_left_out() {
    let forge = Forge::start().await;
    let mut pack = Pack::new();
    let commit = small(&mut pack);
    pack.object(3, 4, b"blob");
    let blob = id("blob", b"blob");
    // A tag of itself cannot be made; one of a tag that is not there can.
    let tag = format!("object {}\ntype tag\ntag x\ntagger t <t@example.com> 0 +0000\n\nm\n", "3".repeat(40));
    pack.object(4, tag.len() as u64, tag.as_bytes());
    let mut refs = head(&commit);
    refs.push(format!("{blob} refs/heads/blob"));
    refs.push(format!("{} refs/heads/tag", id("tag", tag.as_bytes())));
    let url = forge.odd("kinds", Odd::Serves { refs, pack: pack.finish(None) });
    let fetched = Fetcher::of(&forge).await.fetch(&url, &["HEAD", "blob", "tag"]).await.unwrap();
    assert_eq!(fetched.heads.len(), 1);
    let left: Vec<_> = fetched.left_out.iter().map(|one| (one.name.as_str(), one.reason.as_str())).collect();
    assert_eq!(left, [("refs/heads/blob", "no_commit"), ("refs/heads/tag", "no_commit")]);
}
