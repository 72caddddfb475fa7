//! Digests of calls: kinds of nodes and names, never literals.

use tree_sitter::Node;

use super::reader::Reader;

impl<'t> Reader<'t> {
    /// Visits all nodes once, so that the digest of any call is a difference of two places.
    pub(super) fn digest(&mut self, root: Node<'t>) {
        let mut cursor = root.walk();
        let mut entered: Vec<u32> = Vec::new();
        loop {
            let node = cursor.node();
            entered.push(self.tokens.at());
            let name = if self.is_name(node) { self.text(node) } else { "" };
            self.tokens.push(crate::parse::token(node.kind_id(), name));
            if cursor.goto_first_child() {
                continue;
            }
            loop {
                let node = cursor.node();
                let from = entered.pop().unwrap_or(0);
                self.tokens.push(1);
                if self.is_call(node) {
                    self.bounds.insert(node.id(), (from, self.tokens.at()));
                }
                if entered.is_empty() {
                    return;
                }
                if cursor.goto_next_sibling() {
                    break;
                }
                cursor.goto_parent();
            }
        }
    }

    fn is_call(&self, node: Node<'_>) -> bool {
        self.rule(node).is_some_and(|rule| rule.kind == super::rules::Kind::Call)
    }
}
