//! First pass over a file: its scopes, symbols, classes and functions. How names get their values is in `assign.rs`.

use tree_sitter::Node;

use super::reader::{Declaration, Declared, Reader, ScopeId, ScopeKind, TypeSlot, ValueSlot, index};
use super::rules::{Kind, Role};
use super::{Receiver, each};
use crate::parse::{ClassId, Expr, ExprId, Function, FunctionId, Member, MemberKind};

/// Where a pass is.
struct Open {
    depth: usize,
    scope: ScopeId,
}

impl<'t> Reader<'t> {
    /// Reads every declaration of a file.
    pub(super) fn declarations(&mut self, root: Node<'t>) {
        let mut open = vec![Open { depth: 0, scope: 0 }];
        // Decorated definitions stand one level deeper than they are.
        let mut decorated = Vec::new();
        each(root, |node, depth| {
            while open.len() > 1 && open.last().is_some_and(|last| last.depth >= depth) {
                open.pop();
            }
            while decorated.last().is_some_and(|last| *last >= depth) {
                decorated.pop();
            }
            let scope = open.last().map_or(0, |last| last.scope);
            if node.is_error() {
                self.unreadable(node, scope);
                return false;
            }
            let at = depth - decorated.len();
            let Some(kind) = self.rule(node).map(|rule| rule.kind) else { return true };
            let inner = match kind {
                Kind::Decorated => {
                    decorated.push(depth);
                    self.decorated(node);
                    None
                }
                Kind::Function => self.function(node, scope, at),
                Kind::Closure => Some(self.closure(node, scope)),
                Kind::Class => self.class_like(node, scope, at),
                Kind::Extension => Some(self.extension(node, scope)),
                Kind::Namespace => self.namespace(node, scope, at),
                Kind::Alias => {
                    self.alias(node, scope, at);
                    None
                }
                Kind::Scope if self.scope_at.contains_key(&node.id()) => None,
                Kind::Scope => Some(self.add_scope(ScopeKind::Block, Some(scope))),
                Kind::Assign => {
                    self.assign(node, scope, at);
                    None
                }
                Kind::Update => {
                    self.update(node, scope, at);
                    None
                }
                Kind::Each => {
                    self.each_item(node, scope, at);
                    None
                }
                Kind::Parameter => {
                    self.parameter(node, scope);
                    None
                }
                Kind::Receiver => {
                    self.receiver(node, scope);
                    None
                }
                Kind::Field => {
                    self.field(node, scope);
                    None
                }
                Kind::Outer => {
                    let text = self.text(node);
                    self.scopes[scope].outer.insert(text);
                    None
                }
                Kind::Import => {
                    let import = self.grammar.import;
                    import(self, node, scope, at);
                    return false;
                }
                _ => None,
            };
            if let Some(inner) = inner {
                self.scope_at.insert(node.id(), inner);
                open.push(Open { depth, scope: inner });
            }
            true
        });
    }

    /// What no parser understands may declare any of the names that stand in it.
    fn unreadable(&mut self, node: Node<'t>, scope: ScopeId) {
        each(node, |inner, _| {
            if self.is_name(inner) {
                let declaration = Declaration { what: Declared::Unknown, depth: 0 };
                self.declare(scope, self.text(inner), 0, self.line(inner), declaration);
            }
            true
        });
    }

    fn decorated(&mut self, node: Node<'t>) {
        let Some(rule) = self.rule(node) else { return };
        let decorators = rule.all(Role::Decorator).collect();
        if let Some(definition) = rule.get(Role::Definition) {
            self.decorators.insert(definition.id(), decorators);
        }
    }

    /// The text of the decorators of a definition.
    fn decorators_of(&self, node: Node<'_>) -> Vec<&'t str> {
        self.decorators.get(&node.id()).into_iter().flatten().map(|it| self.text(*it)).collect()
    }

    fn add_function(&mut self) -> FunctionId {
        self.out.functions.push(Function::default());
        index(self.out.functions.len() - 1)
    }

    /// Makes the scope of a function.
    fn function_scope(&mut self, node: Node<'t>, scope: ScopeId, function: FunctionId) -> ScopeId {
        let inner = self.add_scope(ScopeKind::Function, Some(scope));
        let symbol = self.out.functions[function as usize].symbol;
        let it = &mut self.scopes[inner];
        it.function = Some(function);
        if let Some(symbol) = symbol {
            it.symbol = Some(symbol);
            it.prefix.clone_from(&self.out.symbols[symbol as usize].qualified);
        }
        let outer = self.scopes[scope].function;
        let it = &mut self.out.functions[function as usize];
        (it.scope, it.outer) = (self.scopes[inner].symbol, outer);
        self.function_at.insert(node.id(), function);
        inner
    }

    fn function(&mut self, node: Node<'t>, scope: ScopeId, depth: usize) -> Option<ScopeId> {
        let rule = self.rule(node)?;
        let name = rule.get(Role::Name)?;
        let (returns, receiver) = (rule.get(Role::Type), rule.setting("receiver"));
        let (value, body) = (rule.get(Role::Value), rule.get(Role::Body));
        let kind = self.scopes[scope].kind;
        // A method that is declared beside its type (`func (r *T) f()`).
        let owner = match receiver {
            Some(_) => Some(self.receiving_class(node, scope)?),
            None => None,
        };
        let text = self.text(name);
        let (owner, prefix) = match owner {
            Some((class, prefix)) => (Some(class), Some(prefix)),
            None => (self.scopes[scope].class.filter(|_| kind == ScopeKind::Class), None),
        };
        let home = match &prefix {
            Some(prefix) => {
                let home = self.add_scope(ScopeKind::Block, Some(scope));
                self.scopes[home].prefix.clone_from(prefix);
                home
            }
            None => scope,
        };
        let symbol = self.symbol(home, text, if owner.is_some() { "method" } else { "function" }, node);
        let function = self.add_function();
        self.out.functions[function as usize].symbol = Some(symbol);
        let inner = self.function_scope(node, home, function);
        if let Some(body) = body {
            // What it declares stands beside the parameters.
            self.scope_at.insert(body.id(), inner);
        }
        if let Some(value) = value {
            self.values.push((ValueSlot::Returns(function), value, inner));
        }
        if let Some(returns) = returns {
            self.types.push((TypeSlot::Returns(function), returns, inner));
        }
        let line = self.line(node);
        if let Some(class) = owner {
            self.scopes[inner].class = Some(class);
            self.scopes[inner].receiver = self.object_of(node, class);
            self.method(node, class, function, text, line);
        } else {
            let declaration = Declaration { what: Declared::Function(function), depth };
            let binding = self.declare(scope, text, 0, line, declaration);
            self.out.bindings[binding as usize].symbol.get_or_insert(symbol);
        }
        if owner.is_some() && self.grammar.class_names && receiver.is_none() {
            let declaration = Declaration { what: Declared::Function(function), depth };
            self.declare(scope, text, 0, line, declaration);
        }
        Some(inner)
    }

    /// What the first parameter of a method stands for, where that is the object or the class.
    fn object_of(&mut self, node: Node<'t>, class: ClassId) -> Option<ExprId> {
        if !matches!(self.grammar.receiver, Receiver::First) {
            return None;
        }
        let decorators = self.decorators_of(node);
        if decorators.contains(&"staticmethod") {
            return None;
        }
        // `__new__` is given the class without saying so.
        let of_class = decorators.contains(&"classmethod");
        Some(self.add(if of_class { Expr::Class(class) } else { Expr::This(Some(class)) }))
    }

    /// A method as a member of its class, with and without an object.
    fn method(&mut self, node: Node<'t>, class: ClassId, function: FunctionId, text: &str, line: u32) {
        let decorators = self.decorators_of(node);
        let is_static = decorators.contains(&"staticmethod");
        let of_class = is_static || decorators.contains(&"classmethod");
        let is_property =
            decorators.iter().any(|it| matches!(it.rsplit('.').next(), Some("property" | "cached_property")));
        let is_setter = decorators.iter().any(|it| it.ends_with(".setter") || it.ends_with(".deleter"));
        if is_setter {
            return;
        }
        let name = self.name(text);
        let kind = if is_property { MemberKind::Getter(function) } else { MemberKind::Method(function) };
        if self.grammar.constructor == Some(text) {
            self.out.classes[class as usize].constructor = Some(function);
        }
        let members = &mut self.out.classes[class as usize].members;
        if self.grammar.own_type.is_some() && members.iter().any(|member| member.name == name) {
            // Of two traits' methods of one name nobody knows here which one is called.
            for member in members.iter_mut().filter(|member| member.name == name) {
                member.kind = MemberKind::Field(None, None);
            }
            return;
        }
        // Of two methods of one name the later one counts.
        members.retain(|member| member.name != name);
        members.push(Member { name, is_static: false, kind, line });
        if of_class || !matches!(self.grammar.receiver, Receiver::First) {
            members.push(Member { name, is_static: true, kind, line });
        } else if !is_property {
            // `Class.method(object, …)`: the same function with one argument more, whose parameters are not followed.
            let symbol = self.out.functions[function as usize].symbol;
            self.out.functions.push(Function { symbol, scope: symbol, ..Function::default() });
            let unbound = index(self.out.functions.len() - 1);
            let kind = MemberKind::Method(unbound);
            self.out.classes[class as usize].members.push(Member { name, is_static: true, kind, line });
        }
    }

    fn closure(&mut self, node: Node<'t>, scope: ScopeId) -> ScopeId {
        let function = self.add_function();
        let inner = self.function_scope(node, scope, function);
        if let Some(value) = self.rule(node).and_then(|rule| rule.get(Role::Value)) {
            self.values.push((ValueSlot::Returns(function), value, inner));
        }
        inner
    }

    fn class_like(&mut self, node: Node<'t>, scope: ScopeId, depth: usize) -> Option<ScopeId> {
        let rule = self.rule(node)?;
        let name = rule.get(Role::Name)?;
        let bases: Vec<_> = rule.all(Role::Base).collect();
        let kind = rule.setting("symbol").unwrap_or("class");
        let text = self.text(name);
        let symbol = self.symbol(scope, text, kind, node);
        let class = match self.class_at.get(&node.id()) {
            Some(class) => *class,
            None => self.class(),
        };
        let line = self.line(node);
        self.out.classes[class as usize].symbol = Some(symbol);
        self.out.classes[class as usize].line = line;
        for base in bases {
            self.values.push((ValueSlot::Base(class), base, scope));
        }
        let around = &self.scopes[scope];
        if let (ScopeKind::Class, Some(outer)) = (around.kind, around.class) {
            let value = self.add(Expr::Class(class));
            let name = self.name(text);
            let kind = MemberKind::Field(None, Some(value));
            let members = &mut self.out.classes[outer as usize].members;
            members.push(Member { name, is_static: true, kind, line });
            members.push(Member { name, is_static: false, kind, line });
        }
        let binding = self.declare(scope, text, 0, line, Declaration { what: Declared::Class(class), depth });
        self.out.bindings[binding as usize].symbol.get_or_insert(symbol);
        let inner = self.add_scope(ScopeKind::Class, Some(scope));
        let prefix = self.out.symbols[symbol as usize].qualified.clone();
        let it = &mut self.scopes[inner];
        it.symbol = Some(symbol);
        it.prefix = prefix;
        it.class = Some(class);
        Some(inner)
    }
}
