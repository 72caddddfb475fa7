export declare namespace A { interface B<T extends string = 'x'> { (x: T): void; readonly y?: keyof T } }
declare module 'm' { export default class C { private constructor(p: number) } }
