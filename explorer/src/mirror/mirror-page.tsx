export default function MirrorPage() { return null; }
