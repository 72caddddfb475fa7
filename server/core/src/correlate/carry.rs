//! The call of an older index in the current one: provably the same, or none.

use super::{Files, Site};

/// The file of the current index that a file of an older one is now: that of the same path, else the one it was
/// renamed to, which has the same content, as nothing else has, then or now.
pub fn file<'a>(path: &str, then: &Files, now: &'a Files) -> Option<&'a str> {
    if let Some(same) = now.get(path) {
        return Some(same);
    }
    let content = then.content_of(path)?;
    then.only_of_content(content)?;
    now.only_of_content(content)
}

/// The call of the current index that a call of an older one is now.
///
/// Where the file's content is the same, the one at the same place. Else the one in the same symbol with the same
/// tokens, if there is one such call in symbols of that name, then and now: of two that are written alike nobody knows
/// which one is left. In both cases only if it is still known to reach the same operation.
pub fn site<'a>(chosen: &Site, then: &[Site], same_content: bool, now: &'a [Site]) -> Option<&'a Site> {
    if same_content {
        return only(now, |site| {
            place(site) == place(chosen) && is_alike(site, chosen) && is_in_same_symbol(site, chosen)
        });
    }
    only(then, |site| is_alike(site, chosen))?;
    only(now, |site| is_alike(site, chosen)).filter(|site| is_in_same_symbol(site, chosen))
}

fn place(site: &Site) -> (u32, u32, u32, u32, u32) {
    (site.line, site.column, site.end_line, site.callee_line, site.callee_column)
}

/// The same tokens in a symbol of the same name, known to reach the same operation.
fn is_alike(a: &Site, b: &Site) -> bool {
    let erased = |site: &Site| site.operation.as_ref().map(crate::operation::Operation::erased);
    a.call_hash == b.call_hash && a.symbol == b.symbol && a.vendor == b.vendor && erased(a) == erased(b)
}

fn is_in_same_symbol(a: &Site, b: &Site) -> bool {
    a.symbol_ordinal == b.symbol_ordinal
}

fn only(sites: &[Site], is_it: impl Fn(&Site) -> bool) -> Option<&Site> {
    let mut found = sites.iter().filter(|site| is_it(site));
    found.next().filter(|_| found.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Operation;

    fn call(line: u32, symbol: &str, call_hash: &str) -> Site {
        Site {
            line,
            end_line: line,
            column: 1,
            callee_line: line,
            callee_column: 16,
            symbol: symbol.to_owned(),
            symbol_ordinal: 0,
            call_hash: call_hash.to_owned(),
            vendor: "stripe".to_owned(),
            operation: Some(Operation::from_text("GET /v1/charges/{charge}")),
        }
    }

    #[test]
    fn a_file_keeps_its_path_or_is_found_by_content_that_it_alone_has() {
        let then = Files::new([("a.ts", "1"), ("b.ts", "2"), ("c.ts", "2"), ("d.ts", "4")]);
        let now = Files::new([("a.ts", "9"), ("c.ts", "2"), ("moved/d.ts", "4"), ("z.ts", "1")]);
        assert_eq!(file("a.ts", &then, &now), Some("a.ts"), "the path goes before the content");
        assert_eq!(file("d.ts", &then, &now), Some("moved/d.ts"));
        assert_eq!(file("b.ts", &then, &now), None, "c.ts was there before, beside it");
        assert_eq!(file("never.ts", &then, &now), None);
        let twice = Files::new([("x/d.ts", "4"), ("y/d.ts", "4")]);
        assert_eq!(file("d.ts", &then, &twice), None);
    }

    #[test]
    fn a_call_moves_with_its_symbol_and_tokens() {
        let then = [call(3, "charge", "h"), call(9, "refund", "h"), call(10, "refund", "g")];
        let now = [call(30, "charge", "h"), call(90, "refund", "h"), call(91, "refund", "k")];
        assert_eq!(site(&then[0], &then, false, &now), Some(&now[0]));
        assert_eq!(site(&then[1], &then, false, &now), Some(&now[1]));
        assert_eq!(site(&then[2], &then, false, &now), None, "its tokens changed");
    }

    #[test]
    fn of_two_alike_nobody_knows_which_is_left() {
        let two = [call(3, "charge", "h"), call(4, "charge", "h")];
        let one = [call(4, "charge", "h")];
        assert_eq!(site(&two[0], &two, false, &one), None);
        assert_eq!(site(&one[0], &one, false, &two), None);
        assert_eq!(site(&two[1], &two, true, &two), Some(&two[1]), "the file is the same, and so is the place");
    }

    /// A second symbol of the name, put before the first, takes its ordinal.
    #[test]
    fn symbols_of_one_name_do_not_stand_for_each_other() {
        let second = Site { symbol_ordinal: 1, ..call(30, "handler", "h") };
        let then = [call(3, "handler", "h")];
        assert_eq!(site(&then[0], &then, false, &[call(3, "handler", "h"), second.clone()]), None);
        assert_eq!(site(&then[0], &then, false, &[second]), None);
    }

    #[test]
    fn a_call_that_reaches_another_operation_by_now_is_another_call() {
        let then = [call(3, "charge", "h")];
        let renamed =
            [Site { operation: Some(Operation::from_text("GET /v1/charges/{id}")), ..call(3, "charge", "h") }];
        let moved = [Site { operation: Some(Operation::from_text("GET /v2/charges/{id}")), ..call(3, "charge", "h") }];
        let lost = [Site { operation: None, ..call(3, "charge", "h") }];
        for same_content in [true, false] {
            assert_eq!(site(&then[0], &then, same_content, &renamed), Some(&renamed[0]));
            assert_eq!(site(&then[0], &then, same_content, &moved), None);
            assert_eq!(site(&then[0], &then, same_content, &lost), None);
        }
    }
}
