//! Spans of a commit that is not the current one. In the agreed table these were lines mapped through a diff; now the
//! index of that commit is kept, and the call carried from there.

use super::*;

const POST: &str = "POST /v1/charges";

fn asked(path: &'static str, line: u32, operation: &'static Operation) -> Asked<'static> {
    Asked { location: Location { path, line, column: None }, performed: Performed { vendor: "stripe", operation } }
}

fn post() -> &'static Operation {
    static OPERATION: std::sync::LazyLock<Operation> = std::sync::LazyLock::new(|| Operation::from_text(POST));
    &OPERATION
}

fn one(line: u32, symbol: &str) -> Site {
    call((line, line), (1, 9), symbol, Some(POST))
}

fn decide<'a>(then: &Memory, now: &'a Memory, line: u32) -> Result<(&'a str, u32), Reason> {
    match correlate(&asked("/app/src/a.ts", line, post()), Revision::Kept(then), now, &Prefixes::default()) {
        Decision::Exact { place, .. } => Ok((place.path, place.site.line)),
        Decision::Refused { reason, .. } => Err(reason),
    }
}

#[test]
fn a_call_that_moved_is_found_and_one_that_changed_is_not() {
    let then = memory(&[("src/a.ts", "1")], &[("src/a.ts", one(20, "charge")), ("src/a.ts", one(30, "refund"))]);
    let changed = Site { call_hash: "other tokens".to_owned(), ..one(33, "refund") };
    let now = memory(&[("src/a.ts", "2")], &[("src/a.ts", one(23, "charge")), ("src/a.ts", changed)]);
    assert_eq!(decide(&then, &now, 20), Ok(("src/a.ts", 23)), "the table's `line mapped by diff`");
    assert_eq!(decide(&then, &now, 30), Err(Reason::SiteChanged), "the table's `hunk changed`, line_changed there");
    assert_eq!(decide(&then, &now, 23), Err(Reason::NoSiteAtLine), "lines are those of the span's own commit");
}

#[test]
fn a_renamed_file_is_followed_and_a_deleted_one_is_not() {
    let then = memory(&[("src/a.ts", "1")], &[("src/a.ts", one(20, "charge"))]);
    let renamed = memory(&[("lib/b.ts", "1"), ("src/c.ts", "3")], &[("lib/b.ts", one(20, "charge"))]);
    assert_eq!(decide(&then, &renamed, 20), Ok(("lib/b.ts", 20)));
    let deleted = memory(&[("src/c.ts", "3")], &[("src/c.ts", one(20, "charge"))]);
    assert_eq!(decide(&then, &deleted, 20), Err(Reason::SiteChanged));
    let path = "/app/src/a.ts";
    let needs = |now| needed(path, Revision::Kept(&then), now, &Prefixes::default());
    assert_eq!(needs(&renamed), Some(Needed { then: "src/a.ts", now: Some("lib/b.ts") }));
    assert_eq!(needs(&deleted), Some(Needed { then: "src/a.ts", now: None }));
    assert_eq!(needed(path, Revision::NotSent, &then, &Prefixes::default()), None);
}

#[test]
fn two_calls_alike_on_lines_of_their_own_are_told_apart_while_the_file_stays() {
    let sites = [("src/a.ts", one(20, "charge")), ("src/a.ts", one(25, "charge"))];
    let then = memory(&[("src/a.ts", "1"), ("src/b.ts", "2")], &sites);
    let elsewhere = memory(&[("src/a.ts", "1"), ("src/b.ts", "3")], &sites);
    assert_eq!(decide(&then, &elsewhere, 25), Ok(("src/a.ts", 25)));
    let here = memory(&[("src/a.ts", "3"), ("src/b.ts", "2")], &sites);
    assert_eq!(decide(&then, &here, 25), Err(Reason::SiteChanged));
}

#[test]
fn a_contradiction_is_told_of_the_call_as_it_is_now() {
    let then = memory(&[("src/a.ts", "1")], &[("src/a.ts", one(20, "charge"))]);
    let now = memory(&[("src/a.ts", "2")], &[("src/a.ts", one(23, "charge"))]);
    let other = Box::leak(Box::new(Operation::from_text("GET /v1/balance")));
    let told = |now| correlate(&asked("/app/src/a.ts", 20, other), Revision::Kept(&then), now, &Prefixes::default());
    let site = &now.sites("src/a.ts")[0];
    let place = Some(Place { path: "src/a.ts", site });
    assert_eq!(told(&now), Decision::Refused { reason: Reason::ContradictsStaticOperation, place });
    let gone = memory(&[("src/a.ts", "2")], &[]);
    assert_eq!(told(&gone), Decision::Refused { reason: Reason::ContradictsStaticOperation, place: None });
}

/// `stripe.charges.create(…).then(() => fetch("https://api.stripe.com/v1/balance"))`, of which the index knows the
/// first call only: the second one contradicts nothing.
#[test]
fn another_operation_at_another_column_is_another_call() {
    let index = memory(&[("src/a.ts", "1")], &[("src/a.ts", call((10, 10), (9, 19), "f", Some(POST)))]);
    let balance = Operation::from_text("GET /v1/balance");
    let told = |column, operation| {
        let location = Location { path: "/app/src/a.ts", line: 10, column };
        let asked = Asked { location, performed: Performed { vendor: "stripe", operation } };
        match correlate(&asked, Revision::Kept(&index), &index, &Prefixes::default()) {
            Decision::Exact { .. } => None,
            Decision::Refused { reason, place } => Some((reason, place.is_some())),
        }
    };
    assert_eq!(told(Some(76), &balance), Some((Reason::NoSiteAtLine, false)));
    for column in [None, Some(9), Some(15), Some(19)] {
        assert_eq!(told(column, &balance), Some((Reason::ContradictsStaticOperation, true)), "{column:?}");
    }
    // What agrees needs no column: a source map may be coarse.
    for column in [None, Some(19), Some(76)] {
        assert_eq!(told(column, post()), None, "{column:?}");
    }
}

#[test]
fn a_commit_that_is_not_kept_says_nothing_of_files() {
    let now = memory(&[("src/a.ts", "2")], &[("src/a.ts", one(23, "charge"))]);
    let told = |path, revision| match correlate(&asked(path, 23, post()), revision, &now, &Prefixes::default()) {
        Decision::Refused { reason, .. } => reason,
        Decision::Exact { .. } => panic!("promoted"),
    };
    assert_eq!(told("/app/src/gone.ts", Revision::NotKept), Reason::RevisionNotIndexed);
    assert_eq!(told("/app/src/gone.ts", Revision::NotSent), Reason::FileNotIndexed);
    assert_eq!(told("/app/node_modules/x/a.js", Revision::NotKept), Reason::ThirdPartyPath);
    assert_eq!(told("/app/src/a.ts", Revision::NotSent), Reason::RevisionUnknown);
}

#[test]
fn how_a_request_went_goes_together_with_what_was_decided_once() {
    let went = |http_status, rpc_status, resend_count| Exchange { http_status, rpc_status, resend_count }.refusal();
    assert_eq!(went(Some(200), false, 0), None);
    assert_eq!(went(Some(503), false, 0), None, "an error is an answer");
    assert_eq!(went(None, true, 0), None);
    assert_eq!(went(None, false, 3), Some(Reason::NoResponse));
    assert_eq!(went(Some(0), false, 0), Some(Reason::NoResponse));
    assert_eq!(went(Some(302), false, 1), Some(Reason::Resent));
    assert_eq!(went(Some(304), false, 0), Some(Reason::Redirect));
    assert_eq!(Reason::UnknownOperation.min(Reason::NoResponse), Reason::UnknownOperation);
    assert_eq!(Reason::NoSiteAtLine.min(Reason::NoResponse), Reason::NoResponse);
    let span = Span {
        is_client: true,
        location: Err(Reason::AttrConflict),
        environment_counts: false,
        performed: None,
        exchange: Exchange::default(),
    };
    assert_eq!(span.asked(), Err(Reason::AttrConflict));
    let located = Span { location: Ok(Location { path: "a", line: 1, column: None }), ..span };
    assert_eq!(located.asked(), Err(Reason::EnvironmentNotCounted));
    assert_eq!(Span { environment_counts: true, ..located }.asked(), Err(Reason::UnknownOperation));
}
