//! Declared types, as far as they name a class or a client.

use tree_sitter::Node;

use super::reader::{Reader, ScopeId, TypeSlot, UNKNOWN, ValueSlot, index};
use super::rules::{Kind, Role};
use crate::parse::{Expr, MemberKind, Name, Origin, Type, TypeId, TypeRoot};

/// Types in types, followed this far.
const DEEPEST: u32 = 16;

impl<'t> Reader<'t> {
    pub(super) fn settle_type(&mut self, slot: TypeSlot, node: Node<'t>, scope: ScopeId) {
        let Some(ty) = self.ty(node, scope, 0) else { return };
        match slot {
            TypeSlot::Binding(binding) => self.out.bindings[binding as usize].ty = Some(ty),
            TypeSlot::Parameter(function, at) => {
                self.out.functions[function as usize].parameters[at as usize].ty = Some(ty);
            }
            TypeSlot::Returns(function) => self.out.functions[function as usize].return_type = Some(ty),
            TypeSlot::Field(class, at) => {
                if let MemberKind::Field(known, _) = &mut self.out.classes[class as usize].members[at].kind {
                    *known = Some(ty);
                }
            }
            TypeSlot::Extension(class) => self.out.extensions.push((class, ty)),
            TypeSlot::Alias(binding) => self.out.bindings[binding as usize].origin = Origin::Type(ty),
        }
    }

    pub(super) fn settle_value(&mut self, slot: ValueSlot, node: Node<'t>, scope: ScopeId) {
        let value = self.lower(node, scope, 0);
        match slot {
            ValueSlot::Default(function, at) => {
                self.out.functions[function as usize].parameters[at as usize].default = Some(value);
            }
            ValueSlot::Field(class, at) => {
                if let MemberKind::Field(_, known) = &mut self.out.classes[class as usize].members[at].kind {
                    *known = Some(value);
                }
            }
            ValueSlot::Base(class) => {
                let class = &mut self.out.classes[class as usize];
                match class.extends {
                    None => class.extends = Some(value),
                    Some(_) => class.further.push(value),
                }
            }
            ValueSlot::Returns(function) => self.out.functions[function as usize].returns.push(value),
        }
    }

    /// The type that a node names; `None` for what leads nowhere.
    pub(super) fn ty(&mut self, node: Node<'t>, scope: ScopeId, depth: u32) -> Option<TypeId> {
        if depth > DEEPEST || node.is_error() {
            return None;
        }
        if self.is_name(node) {
            return self.named_type(self.text(node), scope, index(node.start_byte()));
        }
        let rule = self.rule(node)?;
        let part = |role| rule.get(role);
        match rule.kind {
            Kind::Same | Kind::Await => {
                let value = part(Role::Value)?;
                self.ty(value, scope, depth + 1)
            }
            Kind::Null => Some(self.add_type(Type::Null)),
            Kind::Union => {
                let (left, right) = (part(Role::Left), part(Role::Right));
                let mut all = Vec::new();
                for side in [left, right].into_iter().flatten() {
                    all.extend(self.ty(side, scope, depth + 1));
                }
                Some(self.add_type(Type::Union(all)))
            }
            Kind::Apply => {
                let (name, value) = (part(Role::Name)?, part(Role::Value));
                let text = self.text(name);
                let last = text.rsplit(['.', ':']).next().unwrap_or(text);
                if self.grammar.transparent.contains(&last) {
                    return self.ty(value?, scope, depth + 1);
                }
                self.ty(name, scope, depth + 1)
            }
            // A name that is written as a text, since it is declared further down.
            Kind::Text => {
                let literal = self.grammar.literal;
                let text = literal(self, node)?;
                let is_name = text.chars().all(|c| c.is_alphanumeric() || c == '_');
                let known = self.source.find(&text).filter(|_| is_name && !text.is_empty())?;
                let text = self.source.get(known..known + text.len())?;
                self.named_type(text, scope, index(node.start_byte()))
            }
            Kind::Member => {
                let value = self.lower(node, scope, depth);
                let mut path = Vec::new();
                let root = self.type_path(value, &mut path)?;
                path.reverse();
                Some(self.add_type(Type::Reference(root, path, Vec::new())))
            }
            _ => None,
        }
    }

    fn named_type(&mut self, text: &str, scope: ScopeId, at: u32) -> Option<TypeId> {
        if self.grammar.own_type == Some(text) {
            let class = self.scopes[scope].class?;
            let name = self.name(text);
            let binding = index(self.out.bindings.len());
            let (origin, line) = (Origin::Class(class), 0);
            self.out.bindings.push(crate::parse::Binding {
                name,
                origin,
                ty: None,
                writes: Vec::new(),
                line,
                symbol: None,
            });
            self.declarations.push(Vec::new());
            return Some(self.add_type(Type::Reference(TypeRoot::Binding(binding), Vec::new(), Vec::new())));
        }
        let binding = self.reference(scope, text, at)?;
        Some(self.add_type(Type::Reference(TypeRoot::Binding(binding), Vec::new(), Vec::new())))
    }

    fn type_path(&self, value: u32, path: &mut Vec<Name>) -> Option<TypeRoot> {
        let mut at = value;
        for _ in 0..DEEPEST {
            match *self.out.expr(at) {
                Expr::Member(object, name) => {
                    path.push(name);
                    at = object;
                }
                Expr::Binding(binding) => return Some(TypeRoot::Binding(binding)),
                Expr::Import(specifier) => return Some(TypeRoot::Import(specifier)),
                _ => return None,
            }
        }
        None
    }

    pub(super) fn add_type(&mut self, ty: Type) -> TypeId {
        self.out.types.push(ty);
        debug_assert_eq!(self.out.expr(UNKNOWN), &Expr::Unknown);
        index(self.out.types.len() - 1)
    }
}
