//! How much is looked at: source that multiplies its own ways (values in values, spreads in spreads, functions that call
//! each other) costs a bounded time, and costs the index no other file.

use super::eval::Evaluator;

/// Evaluations for one question.
const MOST_STEPS: usize = 20_000;
/// Parts of texts, options and keys that are looked at for one call.
const MOST_LOOKS: usize = 20_000;
/// Callers that only give a function what it was given itself, left out for one question: rings of many functions could
/// be gone through in as many ways as there are.
const MOST_RINGS: usize = 8;
/// Everything that is looked at for one file. Ordinary files take a thousandth of it.
pub(crate) const MOST_OF_A_FILE: usize = 2_000_000;
/// Everything that is looked at for one index: about a minute of an optimised build.
pub(crate) const MOST_OF_AN_INDEX: usize = 500_000_000;

/// What is followed, in words.
pub(crate) fn limits() -> String {
    format!("{MOST_OF_A_FILE} steps a file, {MOST_OF_AN_INDEX} together")
}

/// What has been looked at so far.
#[derive(Debug, Default)]
pub(super) struct Spent {
    steps: usize,
    looks: usize,
    rings: usize,
    file: usize,
    most: usize,
}

impl Spent {
    /// A new file, for which the index has so much left.
    pub(super) fn begin_file(&mut self, left: usize) {
        *self = Self { most: left.min(MOST_OF_A_FILE), ..Self::default() };
    }
}

impl Evaluator<'_, '_> {
    /// A new call of the file.
    pub(super) fn begin_call(&mut self) {
        self.spent.looks = 0;
    }

    /// A new question that no other one asked.
    pub(super) fn begin_question(&mut self) {
        self.spent.steps = 0;
        self.spent.rings = 0;
    }

    /// One evaluation more; false where there were too many, and then the answer is one that was cut short.
    pub(super) fn may_step(&mut self) -> bool {
        self.spent.steps += 1;
        let may = self.spent.steps <= MOST_STEPS && self.may_go_on();
        if !may {
            self.lowest = 0;
        }
        may
    }

    /// Whether a caller whose answer a ring cut short may be left out: what it gives is what others give.
    pub(super) fn may_leave_out(&mut self) -> bool {
        self.spent.rings += 1;
        self.spent.rings <= MOST_RINGS && self.spent.steps <= MOST_STEPS && !self.is_file_spent()
    }

    /// One part of a text, option or key more; false where there were too many.
    pub(super) fn may_look(&mut self) -> bool {
        self.spent.looks += 1;
        let may = !self.is_call_spent() && self.may_go_on();
        if !may {
            self.lowest = 0;
        }
        may
    }

    /// Whether what was found of the current call may miss something that was not looked at any more.
    pub(super) fn is_call_spent(&self) -> bool {
        self.spent.looks > MOST_LOOKS
    }

    /// Whether the current file has had its share.
    pub(super) fn is_file_spent(&self) -> bool {
        self.spent.file > self.spent.most
    }

    /// What the current file took.
    pub(super) fn spent_of_file(&mut self) -> usize {
        self.spent.file = self.spent.file.saturating_add(self.world.take_steps());
        self.spent.file
    }

    fn may_go_on(&mut self) -> bool {
        self.spent.file += 1;
        self.spent_of_file();
        !self.is_file_spent()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use crate::bind::tests::analysed;

    /// `const a1 = …a0…;` and so on, `levels` times.
    fn levels(levels: usize, mut line: impl FnMut(usize) -> String) -> String {
        (1..levels).fold(String::new(), |mut text, at| {
            let _ = writeln!(text, "{}", line(at));
            text
        })
    }

    #[test]
    fn what_multiplies_itself_costs_a_bounded_time_and_is_not_guessed() {
        let many = |n: usize, text: String| vec![text; n].join("");
        let text = format!(
            "const a0 = 'a';\n{}fetch(`https://api.stripe.com/v1/${{a16}}`);",
            levels(17, |at| format!("const a{at} = `{}`;", many(40, format!("${{a{}}}", at - 1))))
        );
        let options = format!(
            "const o0 = {{ a: 1 }};\n{}fetch('https://api.stripe.com/v1/charges', o11);",
            levels(12, |at| format!("const o{at} = {{ {} }};", many(40, format!("...o{}, ", at - 1))))
        );
        let keys = format!(
            "import Stripe from 'stripe';\nconst s = new Stripe('k');\nconst o0 = {{ a: 1 }};\n{}s.charges.create(o11);",
            levels(12, |at| format!("const o{at} = {{ {} }};", many(40, format!("...o{}, ", at - 1))))
        );
        let parts = format!("fetch(`https://api.stripe.com/v1/{}`);", many(10_000, "${a}/".to_owned()));
        let neighbour = "fetch('https://api.stripe.com/v1/charges');";
        let files = [("a.ts", &*text), ("b.ts", &options), ("c.ts", &keys), ("d.ts", &parts), ("e.ts", neighbour)];
        let analysis = analysed(&files);
        let operations: Vec<_> = analysis
            .files
            .iter()
            .flat_map(|file| &file.call_sites)
            .map(|site| site.operation.as_ref().map(|operation| operation.as_str().to_owned()))
            .collect();
        // Of the text with too many parts not even the host is known.
        assert_eq!(operations, [None, None, None, Some("GET /v1/charges".to_owned())]);
        assert!(analysis.cut.is_empty());
    }
}
