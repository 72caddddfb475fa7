//! First pass, continued: types whose methods stand elsewhere, modules within a file, and types that are names.

use tree_sitter::Node;

use super::each;
use super::reader::{Declaration, Declared, Reader, ScopeId, ScopeKind, TypeSlot, ValueSlot};
use super::rules::{Kind, Role};
use crate::parse::{ClassId, Expr};

impl<'t> Reader<'t> {
    /// Finds the types of a file before anything else, since their methods may precede them.
    pub(super) fn find_types(&mut self, root: Node<'t>) {
        each(root, |node, _| {
            if let Some(rule) = self.rule(node)
                && rule.kind == Kind::Class
                && let Some(name) = rule.get(Role::Name)
            {
                let class = self.class();
                self.class_at.insert(node.id(), class);
                self.class_named.entry(self.text(name)).and_modify(|known| *known = None).or_insert(Some(class));
            }
            !node.is_error()
        });
    }

    /// The class that methods are of, by the type that they name, and what their symbols' names start with.
    pub(super) fn receiving_class(&mut self, node: Node<'t>, scope: ScopeId) -> Option<(ClassId, String)> {
        let base = self.rule(node)?.get(Role::Base)?;
        let text = self.text(base);
        if let Some(Some(class)) = self.class_named.get(text) {
            return Some((*class, text.to_owned()));
        }
        if let Some(class) = self.foreign.get(text) {
            return Some((*class, text.to_owned()));
        }
        let class = self.class();
        self.foreign.insert(text, class);
        self.types.push((TypeSlot::Extension(class), base, scope));
        Some((class, text.to_owned()))
    }

    pub(super) fn extension(&mut self, node: Node<'t>, scope: ScopeId) -> ScopeId {
        let owner = self.receiving_class(node, scope);
        let trait_taken = self.rule(node).and_then(|rule| rule.get(Role::Value));
        if let (Some((class, _)), Some(it)) = (&owner, trait_taken) {
            // What a trait does by itself, its types do too.
            self.values.push((ValueSlot::Base(*class), it, scope));
        }
        let inner = self.add_scope(ScopeKind::Class, Some(scope));
        let (class, name) = match owner {
            Some(owner) => owner,
            None => (self.class(), String::new()),
        };
        let around = &self.scopes[scope].prefix;
        let prefix = if around.is_empty() || name.is_empty() { name } else { format!("{around}.{name}") };
        let it = &mut self.scopes[inner];
        it.class = Some(class);
        it.prefix = prefix;
        inner
    }

    /// The parameter that is the object of a method.
    pub(super) fn receiver(&mut self, node: Node<'t>, scope: ScopeId) {
        let Some(class) = self.scopes[scope].class else { return };
        let name = self.rule(node).and_then(|rule| rule.get(Role::Name)).unwrap_or(node);
        let object = self.add(Expr::This(Some(class)));
        let line = self.line(name);
        self.declare(scope, self.text(name), 0, line, Declaration { what: Declared::Made(object), depth: 0 });
    }

    /// A module within the file: a value whose members are its names.
    pub(super) fn namespace(&mut self, node: Node<'t>, scope: ScopeId, depth: usize) -> Option<ScopeId> {
        let name = self.rule(node)?.get(Role::Name)?;
        let text = self.text(name);
        let symbol = self.symbol(scope, text, "namespace", node);
        let value = self.add(Expr::Object(Vec::new()));
        let line = self.line(node);
        let binding = self.declare(scope, text, 0, line, Declaration { what: Declared::Made(value), depth });
        self.out.bindings[binding as usize].symbol = Some(symbol);
        let inner = self.add_scope(ScopeKind::Module, Some(scope));
        let prefix = self.out.symbols[symbol as usize].qualified.clone();
        let it = &mut self.scopes[inner];
        it.symbol = Some(symbol);
        it.prefix = prefix;
        it.class = None;
        it.function = None;
        self.namespaces.push((value, inner));
        Some(inner)
    }

    /// A type that is another one's name.
    pub(super) fn alias(&mut self, node: Node<'t>, scope: ScopeId, depth: usize) {
        let Some(rule) = self.rule(node) else { return };
        let (Some(name), Some(ty)) = (rule.get(Role::Name), rule.get(Role::Type)) else { return };
        let text = self.text(name);
        let symbol = self.symbol(scope, text, "type", node);
        let line = self.line(node);
        let binding = self.declare(scope, text, 0, line, Declaration { what: Declared::Unknown, depth });
        self.out.bindings[binding as usize].symbol = Some(symbol);
        self.types.push((TypeSlot::Alias(binding), ty, scope));
    }
}
