//! Calls between symbols of the repository, and what facts depend on.

use std::collections::BTreeMap;

use super::{Analysis, analysed, file};

fn hashes(analysis: &Analysis) -> BTreeMap<&str, &str> {
    analysis.files.iter().map(|file| (file.path.as_str(), file.facts_hash.as_str())).collect()
}

#[test]
fn facts_move_with_what_they_depend_on_and_with_nothing_else() {
    let lib = "import Stripe from 'stripe';\nexport const stripe = new Stripe('k');\n";
    let user = "import { stripe } from './lib';\nexport async function pay() { return (await stripe.charges.create({})).id; }\n";
    let other = "import { pay } from './user';\npay();\n";
    let before = analysed(&[("lib.ts", lib), ("user.ts", user), ("other.ts", other)]);
    let again = analysed(&[("other.ts", other), ("user.ts", user), ("lib.ts", lib)]);
    assert_eq!(before, again);
    let lib_moved = format!("// one line more\n\n{lib}");
    let after = analysed(&[("lib.ts", &lib_moved), ("user.ts", user), ("other.ts", other)]);
    let (old, new) = (hashes(&before), hashes(&after));
    assert_ne!(old["lib.ts"], new["lib.ts"]);
    assert_eq!(old["user.ts"], new["user.ts"]);
    assert_eq!(old["other.ts"], new["other.ts"]);
    assert_eq!(before.clients, after.clients);
    // Only the module that exports the client changes: so does what its importer binds.
    let own = analysed(&[
        ("lib.ts", "export const stripe = { charges: { create() {} } };\n"),
        ("user.ts", user),
        ("other.ts", other),
    ]);
    assert_ne!(old["user.ts"], hashes(&own)["user.ts"]);
    assert!(file(&own, "user.ts").call_sites.is_empty());
    assert_eq!(old["other.ts"], hashes(&own)["other.ts"]);
}

#[test]
fn calls_are_edges_through_every_way_of_importing() {
    let target = "export function target(x: number) { return x + 1; }
export default function main() { return 1; }
export { target as renamed };
export const alias = target;
export const api = { run: target, own() { return 2; } };
";
    let analysis = analysed(&[
        ("lib/target.ts", target),
        ("lib/index.ts", "export * from './target';\nexport { default as barrel } from './target';\n"),
        ("decoy.ts", "export function target() {}\n"),
        (
            "calls.ts",
            "import main, { target, target as two, renamed, alias, api } from './lib/target';
import * as ns from './lib/target';
import { target as star, barrel } from './lib';
const common = require('./lib/target');
export function f() { target(1); two(1); renamed(1); alias(1); api.run(1); api.own(); main(); ns.target(1); star(1); barrel(); common.target(1); }
export async function g() { const m = await import('./lib/target'); m.target(1); const h = target; h(1); }
export function shadow(target: (x: number) => number) { return target(1); }
export function missing() { return gone(1); }
class A { a() { this.b(); } b() {} static c() {} }
export function methods() { A.c(); new A().b(); }
",
        ),
    ]);
    let calls = file(&analysis, "calls.ts");
    let edges: Vec<String> = calls
        .edges
        .iter()
        .map(|edge| format!("{} {} {}", edge.from, edge.to.replace("lib/target.ts", "t"), edge.via))
        .collect();
    let t = |name: &str, via: &str| format!("f#0 t#{name}#0 {via}");
    assert_eq!(
        edges,
        [
            t("target", "import"),
            t("target", "import"),
            t("target", "import"),
            t("target", "import"),
            t("target", "import"),
            t("api.own", "import"),
            t("main", "import"),
            t("target", "import"),
            t("target", "reexport"),
            t("main", "reexport"),
            t("target", "import"),
            "g#0 t#target#0 import".to_owned(),
            "g#0 t#target#0 type".to_owned(),
            "A.a#0 calls.ts#A.b#0 this".to_owned(),
            "methods#0 calls.ts#A.c#0 type".to_owned(),
            "methods#0 calls.ts#A#0 local".to_owned(),
            "methods#0 calls.ts#A.b#0 type".to_owned(),
        ]
    );
    let unresolved: Vec<String> = calls.unresolved.iter().map(|call| format!("{} {}", call.from, call.name)).collect();
    assert_eq!(unresolved, ["shadow#0 target"]);
}

#[test]
fn conflicting_stars_and_cycles_of_reexports_lead_nowhere() {
    let analysis = analysed(&[
        ("a.ts", "export function f() {}\n"),
        ("b.ts", "export function f() {}\nexport * from './index';\n"),
        ("index.ts", "export * from './a';\nexport * from './b';\nexport * from './index';\n"),
        ("use.ts", "import { f, g } from './index';\nf(); g();\n"),
    ]);
    assert_eq!(file(&analysis, "use.ts").edges, []);
}

#[test]
fn modules_of_rust_are_in_the_file_that_their_attribute_says() {
    let lib = "#[cfg(unix)]\n#[path = \"../shared/deep.rs\"]\nmod near;\nmod plain;\nuse near::f as renamed;\n\
               pub use self::near::inner::h;\nfn g() { near::f(); renamed(); h(); plain::f(); }\n";
    let user = "fn u() { crate::h(); }\n";
    let analysis = analysed(&[
        ("Cargo.toml", "[package]\nname = \"app\"\n"),
        ("src/lib.rs", lib),
        ("src/user.rs", user),
        ("src/plain.rs", "pub fn f() {}\n"),
        ("src/near.rs", "pub fn f() {}\n"),
        ("shared/deep.rs", "pub fn f() {}\npub mod inner;\n"),
        ("shared/inner.rs", "pub fn h() {}\n"),
    ]);
    let edges = |path| file(&analysis, path).edges.iter().map(|edge| edge.to.as_str()).collect::<Vec<_>>();
    assert_eq!(
        edges("src/lib.rs"),
        ["shared/deep.rs#f#0", "shared/deep.rs#f#0", "shared/inner.rs#h#0", "src/plain.rs#f#0"]
    );
    assert_eq!(edges("src/user.rs"), ["shared/inner.rs#h#0"]);
}
