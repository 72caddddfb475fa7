//! Sources that multiply their own ways.

use super::{analysed, bound_in, sites};

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

#[test]
fn lists_that_are_gone_through_for_each_name_in_them_are_counted() {
    let each = |text: fn(usize) -> String| (0..10_000).map(text).collect::<String>();
    let object =
        format!("const o = {{ {} }};\n{}", each(|at| format!("k{at}() {{}}, ")), each(|at| format!("o.k{at}();\n")));
    let class =
        format!("class A {{ {} }}\n{}", each(|at| format!("k{at}() {{}} ")), each(|at| format!("new A().k{at}();\n")));
    let mocks = each(|at| format!("jest.mock('./m{at}');\n"))
        + &each(|at| format!("import {{ x{at} }} from './n{at}';\nx{at}();\n"));
    let neighbour = "fetch('https://api.stripe.com/v1/charges');\n";
    let analysis = analysed(&[("a.ts", &object), ("b.ts", &class), ("c.test.ts", &mocks), ("d.ts", neighbour)]);
    assert_eq!(analysis.cut, ["a.ts", "b.ts", "c.test.ts"]);
    assert_eq!(sites(&analysis).len(), 1);
}
