//! The rule table that the rule was agreed on, case by case, in its order and with its words.

use super::*;

const POST: &str = "POST /v1/charges";
const GET: &str = "GET /v1/customers/{id}";
const CHARGE: &str = "src/payments/charge.ts";
const APP: &str = "/app/src/payments/charge.ts";

fn index() -> Memory {
    let files = [
        CHARGE,
        "src/payments/raw.ts",
        "packages/a/src/x.ts",
        "packages/b/src/x.ts",
        "packages/b/src/only.ts",
        "billing/core.py",
        "solo.py",
        "index.ts",
        "src/index.ts",
    ];
    let files: Vec<(&str, &str)> = files.into_iter().map(|path| (path, path)).collect();
    let one = |line, symbol, operation| call((line, line), (1, 9), symbol, operation);
    memory(
        &files,
        &[
            (CHARGE, one(23, "chargeAwait", Some(POST))),
            (CHARGE, call((28, 29), (1, 9), "chargeThen", Some(POST))),
            (CHARGE, call((39, 39), (5, 60), "chargeAll", Some(POST))),
            (CHARGE, call((39, 39), (61, 120), "chargeAll", Some(POST))),
            (CHARGE, one(47, "chargeAfterAwait", Some(GET))),
            (CHARGE, one(60, "x", None)),
            ("packages/b/src/only.ts", one(5, "f", Some(POST))),
            ("billing/core.py", call((6, 10), (1, 9), "charge", Some(POST))),
            ("packages/a/src/x.ts", one(3, "g", Some(POST))),
            ("packages/b/src/x.ts", one(3, "g", Some(POST))),
            ("solo.py", one(2, "h", Some(POST))),
            ("src/index.ts", one(4, "m", Some(POST))),
        ],
    )
}

/// A case as the table writes it: what differs from a client span of `POST /v1/charges` that was answered, of the
/// commit that is indexed.
struct Case {
    path: Option<&'static str>,
    line: Option<i64>,
    extra: Vec<(&'static str, Value<'static>)>,
    operation: Option<&'static str>,
    is_client: bool,
    responded: bool,
    revision: Revision<()>,
    prefixes: Prefixes,
}

fn at(path: &'static str, line: i64) -> Case {
    Case {
        path: Some(path),
        line: Some(line),
        extra: Vec::new(),
        operation: Some(POST),
        is_client: true,
        responded: true,
        revision: Revision::Kept(()),
        prefixes: Prefixes::default(),
    }
}

impl Case {
    /// The call that is observed, as path and line, or the word of the reason.
    fn decided(&self) -> Result<(String, u32, u32), &'static str> {
        let index = index();
        let mut code = Code::default();
        let place = [("code.file.path", self.path.map(Value::Text)), ("code.line.number", self.line.map(Value::Whole))];
        let given = place.into_iter().filter_map(|(key, value)| Some((key, value?)));
        for (key, value) in given.chain(self.extra.iter().copied()) {
            code.note(key, value);
        }
        let operation = self.operation.map(Operation::from_text);
        let span = Span {
            is_client: self.is_client,
            location: code.location(),
            environment_counts: true,
            performed: operation.as_ref().map(|operation| Performed { vendor: "stripe", operation }),
            exchange: Exchange { http_status: self.responded.then_some(200), ..Exchange::default() },
        };
        let asked = span.asked().map_err(Reason::as_str)?;
        let revision = match self.revision {
            Revision::Kept(()) => Revision::Kept(&index),
            Revision::NotKept => Revision::NotKept,
            Revision::NotSent => Revision::NotSent,
        };
        match correlate(&asked, revision, &index, &self.prefixes) {
            Decision::Exact { place, .. } => Ok((place.path.to_owned(), place.site.line, place.site.column)),
            Decision::Refused { reason, .. } => Err(reason.as_str()),
        }
    }
}

#[track_caller]
fn is(name: &str, case: &Case, expected: Result<(&str, u32), &'static str>) {
    assert_eq!(
        case.decided().as_ref().map(|(path, line, _)| (path.as_str(), *line)),
        expected.as_ref().copied(),
        "{name}"
    );
}

const FOUND: Result<(&str, u32), &str> = Ok((CHARGE, 23));

#[test]
fn paths_of_machines_and_bundlers() {
    is("container path, exact rev", &at(APP, 23), FOUND);
    is("/usr/src/app", &at("/usr/src/app/src/payments/charge.ts", 23), FOUND);
    is("/var/task", &at("/var/task/src/payments/charge.ts", 23), FOUND);
    is("windows", &at(r"C:\svc\src\payments\charge.ts", 23), FOUND);
    is("file url", &at("file:///app/src/payments/charge.ts", 23), FOUND);
    is("file url windows", &at("file:///C:/svc/src/payments/charge.ts", 23), FOUND);
    is("webpack", &at("webpack://checkout/./src/payments/charge.ts?1a2b", 23), FOUND);
    is("next rsc", &at("webpack-internal:///(rsc)/./src/payments/charge.ts", 23), FOUND);
    is("app:///", &at("app:///src/payments/charge.ts", 23), FOUND);
}

#[test]
fn spellings() {
    let old = [("code.filepath", Value::Text(APP)), ("code.lineno", Value::Text("23"))];
    is("old spelling", &Case { path: None, line: None, extra: old.to_vec(), ..at(APP, 23) }, FOUND);
    let line = |line| vec![("code.lineno", Value::Whole(line))];
    is("mixed spelling", &Case { line: None, extra: line(23), ..at(APP, 23) }, FOUND);
    let both = vec![("code.filepath", Value::Text(APP)), ("code.lineno", Value::Whole(23))];
    is("both, agreeing", &Case { extra: both, ..at(APP, 23) }, FOUND);
    is("both, disagreeing", &Case { extra: line(24), ..at(APP, 23) }, Err("attr_conflict"));
}

#[test]
fn lines_and_columns() {
    is("second line of a member chain", &at(APP, 29), Ok((CHARGE, 28)));
    is("first line of a python call", &at("/srv/billing/core.py", 6), Ok(("billing/core.py", 6)));
    let column = vec![("code.column.number", Value::Whole(70))];
    let told = Case { extra: column, ..at(APP, 39) }.decided();
    assert_eq!(told, Ok((CHARGE.to_owned(), 39, 61)), "two calls on a line and a column");
    is("two calls on a line, no column", &at(APP, 39), Err("ambiguous_site"));
    is("another operation at the line", &at(APP, 47), Err("contradicts_static_operation"));
    is("fills an unmapped operation", &at(APP, 60), Err("fills_unmapped_operation"));
    is("no call at the line", &at(APP, 24), Err("no_site_at_line"));
}

#[test]
fn the_gate() {
    is("server span", &Case { is_client: false, ..at(APP, 23) }, Err("not_client"));
    is("no response", &Case { responded: false, ..at(APP, 23) }, Err("no_response"));
    is("unknown operation", &Case { operation: None, ..at(APP, 23) }, Err("unknown_operation"));
    is("no location", &Case { path: None, line: None, ..at(APP, 23) }, Err("no_code_location"));
    is("line 0", &at(APP, 0), Err("no_code_location"));
}

#[test]
fn paths_that_mean_no_code_of_the_repository() {
    is("node_modules", &at("/app/node_modules/stripe/src/net/NodeHttpClient.ts", 62), Err("third_party_path"));
    is("vendor of php", &at("/app/vendor/guzzlehttp/guzzle/src/Client.php", 101), Err("third_party_path"));
    is("node: internals", &at("node:internal/deps/undici/undici", 11362), Err("synthetic_path"));
    is("unmapped minified bundle", &at("/app/dist-min/bundle.js", 34), Err("generated_path"));
    is("dist is not translated", &at("/app/dist/payments/charge.js", 15), Err("generated_path"));
}

#[test]
fn files_of_a_monorepo() {
    let only = "packages/b/src/only.ts";
    let mapped = || Prefixes::new([("/app", "packages/b")]);
    is("package at its own root, unique", &at("/app/src/only.ts", 5), Ok((only, 5)));
    is("ambiguous", &at("/app/src/x.ts", 3), Err("ambiguous_file"));
    is("mapped prefix", &Case { prefixes: mapped(), ..at("/app/src/x.ts", 3) }, Ok(("packages/b/src/x.ts", 3)));
    is("a mapped prefix decides alone", &Case { prefixes: mapped(), ..at(APP, 23) }, Err("file_not_indexed"));
    let unknown = Case { revision: Revision::NotSent, ..at("/app/src/only.ts", 5) };
    is("partial path at an unknown revision", &unknown, Err("partial_path_needs_same_revision"));
    is("index.ts and src/index.ts", &at("/app/src/index.ts", 4), Err("ambiguous_file"));
    is("relative name, unique", &at("solo.py", 2), Ok(("solo.py", 2)));
    is("absolute name only", &at("/opt/other/charge.ts", 23), Err("file_not_indexed"));
}

/// The table's drift rule (the only call of an operation in a function, near the line) is off: design decided that
/// only kept indexes may promote. The rule that mapped lines through a diff is replaced by them, see `carried.rs`.
#[test]
fn revisions_that_are_not_the_indexed_one() {
    let drift = |line, revision| Case { operation: Some(GET), revision, ..at(APP, line) };
    is("drift: was promoted", &drift(52, Revision::NotSent), Err("revision_unknown"));
    is("drift: operation not unique", &Case { revision: Revision::NotSent, ..at(APP, 25) }, Err("revision_unknown"));
    is("drift: function differs, was revision_unknown", &drift(52, Revision::NotKept), Err("revision_not_indexed"));
}
