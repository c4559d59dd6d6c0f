export default function MatrixPage() { return null; }
