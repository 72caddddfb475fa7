//! Walking the trees of tree-sitter, and positions in what is made of them.

use tree_sitter::Node;

/// A position as facts count it.
pub(crate) fn index(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Visits a tree in source order without recursion; children only where the visitor says so.
pub(crate) fn each<'t>(root: Node<'t>, mut visit: impl FnMut(Node<'t>, usize) -> bool) {
    let mut cursor = root.walk();
    let mut depth = 0;
    loop {
        if visit(cursor.node(), depth) && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        loop {
            if depth == 0 {
                return;
            }
            if cursor.goto_next_sibling() {
                break;
            }
            cursor.goto_parent();
            depth -= 1;
        }
    }
}
