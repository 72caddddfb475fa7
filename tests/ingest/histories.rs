//! Whatever became of a tree and of its cache, the snapshot is that of an index without one.

use std::fs;

use proptest::prelude::*;

use super::cache::{cache_folder, files, warm};
use super::repository::Repository;

/// Texts that link to each other in every way that a file can depend on others.
const TEXTS: [&str; 16] = [
    "import Stripe from 'stripe';\nexport const client = new Stripe('k');\n",
    "export * from './a';\nexport * from './b';\n",
    "import { client } from './a';\nexport function pay() { return client.charges.create({ amount: 1 }); }\n",
    "import { client } from './index';\nclient.customers.retrieve('x').then((c) => c.email);\n",
    "export const client = 1;\n",
    "export const broken = (;\n",
    "// Moved down.\n\nimport Stripe from 'stripe';\nexport const client = new Stripe('k');\n",
    // What a parameter is, its callers say.
    "export function use(c) { return c.charges.list({ limit: 1 }); }\n",
    "import { client } from './a';\nimport { use } from './b';\nuse(client).then((r) => r.data);\n",
    "import { use } from './b';\nexport const none = use({ charges: { list() {} } });\n",
    // A function that makes requests from what it is given.
    "export function use(path) { return fetch(`https://api.stripe.com/v1/${path}`); }\n",
    "import { use } from './index';\nconst r = use('charges');\nexport const id = r.id;\n",
    "import { use } from './index';\nexport function client() { return use('customers'); }\n",
    // Each the other's.
    "import { use } from './b';\nexport const client = use;\nexport function own() { return own() || client; }\n",
    "import { client } from './a';\nexport const use = client;\nexport { client as pay };\n",
    "export { client } from './c/index';\nexport function extra() {}\n",
];
const NAMES: [&str; 6] = ["a.ts", "b.ts", "index.ts", "a.js", "c/index.ts", "d.ts"];

/// The same for a language whose packages are several files, and for one whose packages are folders.
const GO_TEXTS: [&str; 8] = [
    "package pay\n\ntype Client struct{ base string }\n",
    "package pay\n\nfunc (c *Client) Get(path string) { http.Get(c.base + path) }\n",
    "package pay\n\nimport \"net/http\"\n\nfunc Charge() { http.Get(Base + \"/v1/charges\") }\n",
    "package pay\n\nconst Base = \"https://api.stripe.com\"\n",
    "package main\n\nimport \"example.com/shop/pay\"\n\nfunc main() { pay.Charge(); run() }\n",
    "package main\n\nfunc run() {}\n",
    "package other\n\nfunc Charge() {}\n",
    "// Moved.\n\npackage pay\n\nconst Base = \"https://api.stripe.com\"\n",
];
const GO_NAMES: [&str; 5] = ["pay/a.go", "pay/b.go", "pay/c_test.go", "main.go", "run.go"];
const PYTHON_TEXTS: [&str; 6] = [
    "from .b import base\nimport requests\n\ndef charge():\n    return requests.get(base + '/v1/charges')\n",
    "base = 'https://api.stripe.com'\n",
    "from .a import charge\nfrom . import b\n\ncharge()\nb.base\n",
    "from m.a import charge as base\n\ndef charge():\n    return base()\n",
    "# Moved.\n\nbase = 'https://api.stripe.com'\n",
    "from .a import *\n",
];
const PYTHON_NAMES: [&str; 4] = ["m/__init__.py", "m/a.py", "m/b.py", "main.py"];

/// Parts of a file, of which each can stand beside every other one: what a file shows to others changes with some of
/// them, and with others only what it has beside that, or the places and numbers of what follows.
const PARTS: [&str; 36] = [
    "import Stripe from 'stripe';\n",
    "export const client = new Stripe('k');\n",
    "import { client as its } from './a';\nits.charges.list({ limit: 1 });\n",
    "export function use(c, path) { return c.charges.create({ amount: 1 }); }\n",
    "import { use as used } from './b';\nused(new Stripe('k'), 'x').then((r) => r.id);\n",
    "console.log('edited');\n",
    "[1].map((n) => n + 1);\n",
    "export function ask(path) { return fetch(`https://api.stripe.com/v1/${path}`); }\n",
    "import { ask as asked } from './b';\nexport const asking = (path) => asked(path + '/x');\nasked('charges').then((r) => r.id);\n",
    "import { asking as more } from './a';\nmore('customers');\nmore('refunds');\n",
    "export class Pay { client = new Stripe('k'); constructor(x) { this.x = x; } run() { return this.client.charges.list(); } }\n",
    "import { Pay as Payer } from './c';\nnew Payer().run();\nnew Payer(client).x.customers.list();\n",
    "import * as all from './a';\nall.client.refunds.create({ charge: 'c' });\nall.use(all.client, 'y');\n",
    "export * from './b';\n",
    "export { client as pay } from './c';\n",
    "export default use;\n",
    "import given from './a';\ngiven(new Stripe('k'), 'z');\n",
    "export const settings = { url: 'https://api.stripe.com/v1' };\n",
    "settings.url = 'https://api.example.com';\n",
    "Object.assign(settings, { url: 'https://api.github.com' });\n",
    "import { settings as known } from './b';\nfetch(known.url + '/charges');\n",
    "globalThis.fetch = () => 1;\n",
    "export const register = (callback) => callback(new Stripe('k'));\n",
    "import { register as on } from './a';\non((it) => it.charges.list());\n",
    "function inner(c) { return c.customers.list(); }\ninner(client);\nexport const through = (c) => inner(c);\n",
    "import { through as passed } from './c';\npassed(new Stripe('k2'));\n",
    "jest.mock('./a');\n",
    "exports.use = use;\n",
    "use.member = client;\n",
    "import { use as holder } from './a';\nholder.member.charges.list();\n",
    "class Sub extends Pay { constructor() { super(client); } }\nnew Sub().run();\nnew Sub().x.refunds.list();\n",
    "export let late;\nexport function early() { return late; }\nlate = client;\n",
    "import { early as soon } from './b';\nsoon().charges.list();\n",
    "client.host = 'x.example';\nclient.charges = {};\n",
    "export function handler(c) { c.charges.list(); }\n",
    "import { handler as handle } from './b';\nimport { register as hand } from './c';\nhand(handle);\n",
];
const PART_NAMES: [&str; 3] = ["a.ts", "b.ts", "c.ts"];

/// An edit: the file, and the text it gets, or nothing where it is removed.
type Edit = (usize, Option<usize>);

fn edits(names: &[&str], texts: &[&str]) -> impl Strategy<Value = Vec<Edit>> + use<> {
    prop::collection::vec((0..names.len(), prop::option::weighted(0.9, 0..texts.len())), 1..12)
}

/// Makes the edits one after the other, each with a warm index behind it; every third damages the cache.
fn live(names: &[&str], texts: &[&str], edits: Vec<Edit>, damage: (prop::sample::Index, prop::sample::Index)) {
    let folder = Repository::with(&[
        ("package.json", r#"{"dependencies":{"stripe":"17.0.0"}}"#),
        ("go.mod", "module example.com/shop\n"),
    ]);
    let (_held, cache) = cache_folder();
    for (at, (file, text)) in edits.into_iter().enumerate() {
        match text {
            Some(text) => folder.write(names[file], texts[text].as_bytes()),
            None => drop(fs::remove_file(folder.path().join(names[file]))),
        }
        warm(folder.path(), &cache);
        if at % 3 == 2 {
            let files = files(&cache);
            let file = &files[damage.0.index(files.len())];
            let mut bytes = fs::read(file).unwrap();
            let hit = damage.1.index(bytes.len());
            bytes[hit] ^= 0xff;
            fs::write(file, bytes).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_history_the_snapshot_is_that_of_a_cold_run(
        edits in edits(&NAMES, &TEXTS),
        damage in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        live(&NAMES, &TEXTS, edits, damage);
    }

    #[test]
    fn whatever_the_history_of_other_languages_too(
        go in edits(&GO_NAMES, &GO_TEXTS),
        python in edits(&PYTHON_NAMES, &PYTHON_TEXTS),
        damage in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        live(&GO_NAMES, &GO_TEXTS, go, damage);
        live(&PYTHON_NAMES, &PYTHON_TEXTS, python, damage);
    }

    #[test]
    fn whatever_part_of_a_file_comes_or_goes_the_snapshot_is_that_of_a_cold_run(
        edits in prop::collection::vec(
            prop::collection::vec((0..PART_NAMES.len(), 0..PARTS.len(), any::<prop::sample::Index>()), 1..5),
            4..10,
        ),
    ) {
        let folder = Repository::with(&[("package.json", r#"{"dependencies":{"stripe":"17.0.0"}}"#)]);
        let (_held, cache) = cache_folder();
        // What many parts need is there from the beginning.
        let mut all = PART_NAMES.map(|_| vec![0, 1, 3]);
        for edit in edits {
            for (file, part, place) in edit {
                let parts = &mut all[file];
                match parts.iter().position(|known| *known == part) {
                    Some(at) => drop(parts.remove(at)),
                    None => parts.insert(place.index(parts.len() + 1), part),
                }
            }
            for (name, parts) in PART_NAMES.iter().zip(&all) {
                let text: String = parts.iter().map(|part| PARTS[*part]).collect();
                folder.write(name, text.as_bytes());
            }
            warm(folder.path(), &cache);
        }
    }
}
