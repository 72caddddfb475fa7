//! First pass over a file: its scopes, symbols, classes and functions, and every name with how it gets its value.

use tree_sitter::Node;

use super::reader::{Declaration, Declared, Reader, ScopeId, ScopeKind, TypeSlot, UNKNOWN, ValueSlot, index};
use super::rules::{Kind, Role};
use super::{Receiver, each};
use crate::parse::{ClassId, Expr, ExprId, Function, FunctionId, Member, MemberKind, Parameter, Step};

/// Patterns in patterns, followed this far.
const DEEPEST: usize = 32;

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
        let base = rule.get(Role::Base);
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
        if let Some(base) = base {
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

    /// A name that gets a value.
    fn assign(&mut self, node: Node<'t>, scope: ScopeId, depth: usize) {
        let Some(rule) = self.rule(node) else { return };
        let (value, ty) = (rule.get(Role::Value), rule.get(Role::Type));
        let after = rule.setting("visible") == Some("after") && self.scopes[scope].kind != ScopeKind::Module;
        let from = if after { index(node.end_byte()) } else { 0 };
        let patterns: Vec<_> = rule.all(Role::Pattern).collect();
        match patterns.as_slice() {
            [] => self.bind_all(node, scope, from, depth),
            [pattern] => self.bind_pattern(*pattern, scope, from, depth, value, ty),
            _ => {
                let values = value.map(|value| items(value)).filter(|values| values.len() == patterns.len());
                for (at, pattern) in patterns.iter().enumerate() {
                    let value = values.as_ref().map(|values| values[at]);
                    self.bind(*pattern, scope, from, depth, value, &mut Vec::new(), ty);
                }
            }
        }
    }

    /// Declares the names of a pattern, each with its own value where both are lists.
    fn bind_pattern(
        &mut self,
        pattern: Node<'t>,
        scope: ScopeId,
        from: u32,
        depth: usize,
        value: Option<Node<'t>>,
        ty: Option<Node<'t>>,
    ) {
        let is_list = self.rule(pattern).is_some_and(|rule| rule.kind == Kind::List);
        if !is_list {
            self.bind(pattern, scope, from, depth, value, &mut Vec::new(), ty);
            return;
        }
        for (name, value) in self.pairs(pattern, value) {
            self.bind(name, scope, from, depth, value, &mut Vec::new(), ty);
        }
    }

    /// Declares the names of a pattern.
    #[expect(clippy::too_many_arguments, reason = "where it stands, what it gets, and the way into that")]
    pub(super) fn bind(
        &mut self,
        pattern: Node<'t>,
        scope: ScopeId,
        from: u32,
        depth: usize,
        value: Option<Node<'t>>,
        steps: &mut Vec<Step>,
        ty: Option<Node<'t>>,
    ) {
        if steps.len() > DEEPEST {
            return;
        }
        if self.is_name(pattern) {
            self.bind_name(pattern, scope, from, depth, value, steps, ty);
            return;
        }
        match self.rule(pattern).map(|rule| rule.kind) {
            // Values of members are read when every name is known.
            Some(Kind::Member | Kind::Index) => {}
            Some(Kind::Elements) => {
                let mut cursor = pattern.walk();
                for (at, element) in pattern.named_children(&mut cursor).enumerate() {
                    steps.push(Step::Element(index(at)));
                    self.bind(element, scope, from, depth, value, steps, None);
                    steps.pop();
                }
            }
            Some(Kind::Same | Kind::Await) => {
                if let Some(inner) = self.rule(pattern).and_then(|rule| rule.get(Role::Value)) {
                    self.bind(inner, scope, from, depth, value, steps, ty);
                }
            }
            // Whatever else it is, the names in it are declared.
            _ => self.bind_all(pattern, scope, from, depth),
        }
    }

    fn bind_all(&mut self, pattern: Node<'t>, scope: ScopeId, from: u32, depth: usize) {
        let is_pattern_name = self.grammar.is_pattern_name;
        each(pattern, |node, _| {
            if self.described.get(&node.id()).is_some_and(|rule| matches!(rule.kind, Kind::Member | Kind::Index)) {
                return false;
            }
            if self.is_name(node) && is_pattern_name(self.text(node)) {
                self.bind_name(node, scope, from, depth, None, &[], None);
            }
            true
        });
    }

    #[expect(clippy::too_many_arguments, reason = "where it stands, what it gets, and the way into that")]
    fn bind_name(
        &mut self,
        name: Node<'t>,
        scope: ScopeId,
        from: u32,
        depth: usize,
        value: Option<Node<'t>>,
        steps: &[Step],
        ty: Option<Node<'t>>,
    ) {
        let text = self.text(name);
        let home = self.home(scope, text);
        let line = self.line(name);
        let what = match value {
            Some(value) => Declared::Value(value, scope, steps.to_vec()),
            // `name: Type` alone says what a name will be, not that it is anything yet.
            None if ty.is_some() => Declared::Made(UNKNOWN),
            None => Declared::Unknown,
        };
        let is_new = self.own(home, text, from).is_none();
        let binding = self.declare(home, text, from, line, Declaration { what, depth });
        if let Some(ty) = ty {
            self.types.push((TypeSlot::Binding(binding), ty, scope));
        }
        let it = &self.scopes[home];
        match (it.kind, it.class) {
            (ScopeKind::Module, _) if is_new => {
                let symbol = self.symbol(home, text, "constant", name);
                self.out.bindings[binding as usize].symbol = Some(symbol);
            }
            (ScopeKind::Class, Some(class)) if steps.is_empty() => {
                self.add_field(class, text, line, value, ty, scope);
            }
            _ => {}
        }
    }

    /// The scope that a name is declared in: further out where the language says so.
    pub(super) fn home(&self, scope: ScopeId, text: &str) -> ScopeId {
        let mut at = scope;
        let mut module = false;
        while let Some(parent) = self.scopes[at].parent {
            let it = &self.scopes[at];
            module |= it.outer.contains(text);
            let passes = module || (self.grammar.hoists && it.kind == ScopeKind::Block);
            if !passes {
                break;
            }
            at = parent;
        }
        at
    }

    fn add_field(
        &mut self,
        class: ClassId,
        text: &str,
        line: u32,
        value: Option<Node<'t>>,
        ty: Option<Node<'t>>,
        scope: ScopeId,
    ) {
        let name = self.name(text);
        let members = &mut self.out.classes[class as usize].members;
        for is_static in [false, true] {
            let at = members.len();
            members.push(Member { name, is_static, kind: MemberKind::Field(None, None), line });
            if let Some(value) = value {
                self.values.push((ValueSlot::Field(class, at), value, scope));
            }
            if let Some(ty) = ty {
                self.types.push((TypeSlot::Field(class, at), ty, scope));
            }
        }
    }

    /// A field that is declared as such.
    fn field(&mut self, node: Node<'t>, scope: ScopeId) {
        let Some(class) = self.scopes[scope].class else { return };
        let Some(rule) = self.rule(node) else { return };
        let (names, ty): (Vec<_>, _) = (rule.all(Role::Name).collect(), rule.get(Role::Type));
        for name in names {
            self.add_field(class, self.text(name), self.line(name), None, ty, scope);
        }
    }

    /// A further value of a name that is declared elsewhere.
    fn update(&mut self, node: Node<'t>, scope: ScopeId, depth: usize) {
        let Some(rule) = self.rule(node) else { return };
        let (pattern, value) = (rule.get(Role::Pattern), rule.get(Role::Value));
        let Some(pattern) = pattern else { return };
        let pairs = self.pairs(pattern, value);
        for (name, value) in pairs {
            if self.is_name(name)
                && let Some(binding) = self.lookup(scope, self.text(name), index(name.start_byte()))
            {
                let what = value.map_or(Declared::Unknown, |value| Declared::Value(value, scope, Vec::new()));
                self.declarations[binding as usize].push(Declaration { what, depth: depth + 1 });
            }
        }
    }

    /// The names of a pattern, each with its own value where both are lists of one length.
    pub(super) fn pairs(&self, pattern: Node<'t>, value: Option<Node<'t>>) -> Vec<(Node<'t>, Option<Node<'t>>)> {
        let is_list =
            |node: Node<'t>| self.rule(node).is_some_and(|rule| matches!(rule.kind, Kind::List | Kind::Elements));
        if !is_list(pattern) {
            return vec![(pattern, value)];
        }
        let mut cursor = pattern.walk();
        let names: Vec<_> = pattern.named_children(&mut cursor).collect();
        let Some(value) = value.filter(|value| is_list(*value)) else {
            return names.into_iter().map(|name| (name, None)).collect();
        };
        let values = items(value);
        let same = values.len() == names.len();
        if let (false, true, [only]) = (same, self.grammar.first_of_several, values.as_slice()) {
            let only = *only;
            return names.into_iter().enumerate().map(|(at, name)| (name, (at == 0).then_some(only))).collect();
        }
        names.into_iter().enumerate().map(|(at, name)| (name, values.get(at).copied().filter(|_| same))).collect()
    }

    fn each_item(&mut self, node: Node<'t>, scope: ScopeId, depth: usize) {
        let Some(rule) = self.rule(node) else { return };
        let after = rule.setting("visible") == Some("after");
        let mut patterns: Vec<_> = rule.all(Role::Pattern).collect();
        if patterns.is_empty() {
            patterns.push(node);
        }
        for pattern in patterns {
            let from = if after { index(pattern.end_byte()) } else { 0 };
            if self.is_name(pattern) {
                // Comprehensions keep their names to themselves.
                let line = self.line(pattern);
                let home = if self.scopes[scope].kind == ScopeKind::Block {
                    scope
                } else {
                    self.home(scope, self.text(pattern))
                };
                self.declare(home, self.text(pattern), from, line, Declaration { what: Declared::Unknown, depth });
            } else {
                self.bind_all(pattern, scope, from, depth);
            }
        }
    }

    fn parameter(&mut self, node: Node<'t>, scope: ScopeId) {
        let Some(function) = self.scopes[scope].function else { return };
        let Some(rule) = self.rule(node) else { return };
        let rest = rule.setting("rest").is_some();
        let (ty, default) = (rule.get(Role::Type), rule.get(Role::Value));
        let mut patterns: Vec<_> = rule.all(Role::Pattern).collect();
        if patterns.is_empty() {
            patterns.push(node);
        }
        for pattern in patterns {
            self.one_parameter(pattern, scope, function, rest, ty, default);
        }
    }

    fn one_parameter(
        &mut self,
        pattern: Node<'t>,
        scope: ScopeId,
        function: FunctionId,
        rest: bool,
        ty: Option<Node<'t>>,
        default: Option<Node<'t>>,
    ) {
        let line = self.line(pattern);
        if !self.is_name(pattern) {
            self.out.functions[function as usize].parameters.push(Parameter { ty: None, default: None, name: None });
            self.bind_all(pattern, scope, 0, 0);
            return;
        }
        let text = self.text(pattern);
        if rest {
            self.declare(scope, text, 0, line, Declaration { what: Declared::Unknown, depth: 0 });
            return;
        }
        if let Some(object) = self.scopes[scope].receiver.take() {
            self.declare(scope, text, 0, line, Declaration { what: Declared::Made(object), depth: 0 });
            return;
        }
        let name = self.name(text);
        let at = index(self.out.functions[function as usize].parameters.len());
        self.out.functions[function as usize].parameters.push(Parameter { ty: None, default: None, name: Some(name) });
        self.declare(scope, text, 0, line, Declaration { what: Declared::Parameter(function, at), depth: 0 });
        if let Some(ty) = ty {
            self.types.push((TypeSlot::Parameter(function, at), ty, scope));
        }
        if let Some(default) = default {
            self.values.push((ValueSlot::Default(function, at), default, scope));
        }
    }
}

/// The items of a list.
fn items(list: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = list.walk();
    list.named_children(&mut cursor).filter(|item| !item.is_extra()).collect()
}
