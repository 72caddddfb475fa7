//! Sources that multiply their own ways.

use super::bound_in;

#[test]
fn long_ways_and_deep_options_are_followed_in_bounded_stack() {
    let ways = (0..3_000).map(|at| format!("const {{ s: s{} }} = {{ s: s{at} }}; s{}.on();\n", at + 1, at + 1));
    let hosts = vec!["a"; 2_000].join(" || ");
    let text = format!(
        "import Stripe from 'stripe';\nconst s0 = new Stripe('k');\n{}s3000.charges.create({{}});\nnew Stripe('k', {{ host: {hosts} }});\n",
        ways.collect::<String>()
    );
    assert_eq!(bound_in(&text), ["3003 s3000.charges.create POST /v1/charges"]);
}

#[test]
fn objects_that_hold_themselves_are_evaluated_in_bounded_time() {
    let mut text = String::from("import Stripe from 'stripe';\nlet x: any = { a: 1 };\n");
    for _ in 0..200 {
        text.push_str("x = { ...x, ...x, self: x };\n");
    }
    text.push_str("x.self.self.stripe.charges.create({ ...x });\nclass A { b = this.b ?? this.c; c = this.b; }\nnew A().b.c.d();\n");
    assert_eq!(bound_in(&text), Vec::<String>::new());
}
