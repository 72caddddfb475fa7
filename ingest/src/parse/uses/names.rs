//! Names that hold a result, or parts of one that a pattern takes out of it.

use oxc_ast::AstKind;
use oxc_ast::ast::{BindingPattern, PropertyKey};
use oxc_syntax::node::NodeId;
use oxc_syntax::symbol::SymbolId;

use super::{At, Element, How, Walk};

impl<'a> Walk<'_, 'a> {
    pub(super) fn pattern(&mut self, pattern: &BindingPattern<'a>, at: &At, depth: u32) {
        match pattern {
            BindingPattern::BindingIdentifier(it) => {
                if let Some(symbol) = it.symbol_id.get() {
                    self.symbol(symbol, at, depth);
                }
            }
            BindingPattern::AssignmentPattern(it) => {
                let at = At { guarded: true, ..at.clone() };
                self.pattern(&it.left, &at, depth);
            }
            BindingPattern::ObjectPattern(it) => {
                for property in &it.properties {
                    match &property.key {
                        PropertyKey::StaticIdentifier(key) => {
                            self.pattern(&property.value, &at.member(&key.name, false), depth);
                        }
                        PropertyKey::StringLiteral(key) => {
                            self.pattern(&property.value, &at.member(&key.value, false), depth);
                        }
                        _ => self.record(at, &How::Escapes),
                    }
                }
                if it.rest.is_some() {
                    self.record(at, &How::Escapes);
                }
            }
            BindingPattern::ArrayPattern(it) => {
                if let Some(Element::One(element)) = at.element {
                    let at = At { element: None, ..at.clone() };
                    match it.elements.get(element) {
                        Some(Some(pattern)) => self.pattern(pattern, &at, depth),
                        Some(None) => {}
                        None => self.record(&at, &How::Escapes),
                    }
                    return;
                }
                for element in it.elements.iter().flatten() {
                    self.pattern(element, &at.item(), depth);
                }
                if let Some(rest) = &it.rest {
                    self.pattern(&rest.argument, at, depth);
                }
            }
        }
    }

    /// Every read of a variable that holds the value.
    pub(super) fn symbol(&mut self, symbol: SymbolId, at: &At, depth: u32) {
        let mut read = false;
        let references: Vec<NodeId> = self
            .semantic
            .scoping()
            .get_resolved_references(symbol)
            .filter(|reference| reference.is_read() && !reference.is_type())
            .map(oxc_semantic::Reference::node_id)
            .collect();
        for node in references {
            read = true;
            self.follow(node, at.clone(), depth + 1);
        }
        if !read {
            self.record(at, &How::Read);
        }
        // An exported variable can be read by any file.
        let scoping = self.semantic.scoping();
        let declaration = self.semantic.nodes().parent_id(scoping.symbol_declaration(symbol));
        let exported =
            self.semantic.nodes().ancestor_kinds(declaration).any(|kind| matches!(kind, AstKind::ExportDeclaration(_)));
        if exported && scoping.symbol_scope_id(symbol) == scoping.root_scope_id() {
            self.record(at, &How::Escapes);
        }
    }
}
