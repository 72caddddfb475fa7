//! No source leaves: whatever stands in code but names, keys and what the catalog knows is in no byte of a snapshot.

use super::repository::Repository;
use super::snapshot_of;

/// In every place of a program whose text is nobody's to read.
const CANARY: &str = "canary7d1c";

const TYPESCRIPT: &str = r#"#!/usr/bin/env canary7d1c
// canary7d1c in a comment
/** canary7d1c in a doc comment, @param {canary7d1c} x */
import Stripe from 'stripe';
import { helper } from './helper';

const stripe = new Stripe('sk_live_canary7d1c', { apiVersion: '2024-06-20', appInfo: { name: 'canary7d1c' } });
const secret = 'canary7d1c';
const pattern = /canary7d1c[a-z]+/g;
const big = 0xca9a57;

export class Billing {
  private label = "canary7d1c";
  @decorated("canary7d1c")
  async pay(amount: number) {
    const canary7d1cLocal = `canary7d1c ${amount} canary7d1c`;
    console.log("canary7d1c", canary7d1cLocal);
    const charge = await stripe.charges.create(
      { amount, currency: 'canary7d1c', metadata: { order: `canary7d1c-${amount}` }, description: secret + 'canary7d1c' },
      { idempotencyKey: 'canary7d1c' },
    );
    if (charge.status === 'canary7d1c') throw new Error('canary7d1c');
    switch (charge.currency) { case 'canary7d1c': helper('canary7d1c'); }
    return helper(charge.id ?? 'canary7d1c');
  }
}

export async function byHand(canary7d1cParameter: string) {
  await fetch('https://api.stripe.com/v1/charges/ch_canary7d1c?key=canary7d1c', {
    method: 'POST',
    headers: { Authorization: 'Bearer canary7d1c', 'Stripe-Version': '2024-06-20' },
    body: 'canary7d1c=1',
  });
  await fetch(`https://api.stripe.com/v1/charges/${canary7d1cParameter}/capture`, { method: 'POST' });
  await fetch('https://canary7d1c.example.com/canary7d1c');
  await stripe.customers.retrieve('cus_canary7d1c');
}
"#;

const TSX: &str = "export function Page() {\n  return <p title=\"canary7d1c\" data-x={'canary7d1c'}>canary7d1c {/* canary7d1c */}</p>;\n}\n";
const VUE: &str = "<template><p class=\"canary7d1c\">canary7d1c</p></template>\n<script setup lang=\"ts\">\nimport { helper } from './helper';\nhelper('canary7d1c');\n</script>\n<style>.canary7d1c { color: red }</style>\n";
const PYTHON: &str = "\"\"\"canary7d1c\"\"\"\nimport requests\n\ndef pay():\n    # canary7d1c\n    x = f'canary7d1c {1}'\n    requests.post('https://api.stripe.com/v1/charges', data={'amount': 'canary7d1c'}, headers={'A': 'canary7d1c'})\n    return {'key': 'canary7d1c'}\n";
const GO: &str = "// canary7d1c\npackage m\n\nimport \"net/http\"\n\nfunc Pay() {\n\tx := `canary7d1c`\n\thttp.Get(\"https://api.stripe.com/v1/balance?x=canary7d1c\")\n\t_ = x\n}\n";
const RUST: &str =
    "//! canary7d1c\n/* canary7d1c */\npub fn pay() -> &'static str { let _x = b\"canary7d1c\"; \"canary7d1c\" }\n";

#[test]
fn no_text_of_the_code_is_in_a_snapshot() {
    let repository = Repository::with(&[
        ("src/pay.ts", TYPESCRIPT),
        ("src/helper.ts", "export const helper = (text: string) => text + 'canary7d1c';\n"),
        ("src/broken.ts", "export function broken( { // canary7d1c\n  'canary7d1c'\n"),
        ("src/page.tsx", TSX),
        ("src/page.vue", VUE),
        (
            "src/old.js",
            "const s = require('stripe')('canary7d1c');\nmodule.exports = () => s.refunds.create({ charge: 'canary7d1c' });\n",
        ),
        ("py/pay.py", PYTHON),
        ("go.mod", "module m\n"),
        ("pay.go", GO),
        ("src/lib.rs", RUST),
        (".env", "STRIPE_KEY=canary7d1c\n"),
        ("README.md", "canary7d1c\n"),
        (
            "package.json",
            r#"{"name":"canary7d1c","description":"canary7d1c","author":"canary7d1c","dependencies":{"stripe":"17.4.0"}}"#,
        ),
    ]);
    repository.git(&["init", "-q"]);
    repository.git(&["add", "-A", "-f"]);
    repository.git(&["commit", "-qm", "canary7d1c", "--author", "canary7d1c <canary7d1c@example.com>"]);
    let snapshot = snapshot_of(repository.path(), &["--ref", "main"]);
    assert_eq!(snapshot.paths().len(), 9, "{:?} {:?}", snapshot.paths(), snapshot.skips());
    let text = String::from_utf8(snapshot.bytes).unwrap();
    let holds: Vec<&str> = text.lines().filter(|line| line.to_lowercase().contains(CANARY)).collect();
    assert!(holds.is_empty(), "{holds:#?}");
    assert!(!text.contains("13277783") && !text.to_lowercase().contains("ca9a57"), "no number");

    // What it does hold, so that this is a snapshot of that code: names, keys, operations and pinned versions.
    for kept in [
        "\"qualified\":\"Billing.pay\"",
        "\"POST /v1/charges\"",
        "\"metadata.order\"",
        "\"2024-06-20\"",
        "\"17.4.0\"",
        "\"POST /v1/charges/{charge}/capture\"",
        "\"POST /v1/refunds\"",
        "\"specifier\":\"./helper\"",
    ] {
        assert!(text.contains(kept), "{kept}");
    }
}
